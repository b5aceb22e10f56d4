import{r as L,w as B,l as rt,a as Mn,b as g,c as Ie,d as mn,e as I,f,g as e,h as J,R as j,i as Y,T as ee,j as C,C as G,n as Ee,A as re,F as R,t as le,o as K,k as Ze,u as $,m as ce,p as Se,q as v,s as x,v as _,B as P,x as fe,y as U,z as Wn,D as E,E as He,G as er,H as Ke,I as de,J as k,K as je,L as me,M as ls,N as ve,$ as w,O as Ye,P as ae,Q as xe,S as nr,U as Qe,V as tr,W as Re,X as ds,Y as rr,Z as st,_ as Ue,a0 as wt,a1 as F,a2 as us,a3 as ye,a4 as at,a5 as Xe,a6 as Oe,a7 as Z,a8 as _e,a9 as sr,aa as ar,ab as S,ac as ir,ad as hs,ae as Jn,af as Q,ag as Cn,ah as or,ai as yn,aj as _n,ak as xn,al as ps,am as be,an as fs,ao as H,ap as ms,aq as cr,ar as q,as as vs,at as ln,au as bs,av as oe,aw as z,ax as De,ay as lr,az as dr,aA as Pe,aB as ge,aC as gs,aD as ys,aE as ws,aF as ks,aG as js,aH as ur,aI as Kn,aJ as te,aK as Ts,aL as ie,aM as kt,aN as Fe,aO as We,aP as Cs,aQ as qe,aR as un,aS as V,aT as hn,aU as xs,aV as Ss,aW as Os,aX as As,aY as Es,aZ as Is,a_ as Rs,a$ as A,b0 as pe,b1 as D,b2 as qs,b3 as Te,b4 as Ne,b5 as se,b6 as an,b7 as Ms,b8 as N,b9 as _s,ba as $s,bb as Ns,bc as Ls,bd as Ps,be as Ws,bf as Ds,bg as Fs,bh as Us,bi as M,bj as Bs,bk as Gs,bl as hr,bm as zs}from"./console.js";const Hs=`name: agents with tasks of their own, whose approvals start empty, and which delegate parts of them
model_file: model.txt

setup:
  warrants:
    - document:plan#owner@user:ann
    - document:plan#viewer@user:bob
    - tool:send-mail#caller@user:*
    - agent:planner#user@user:*
    - agent:searcher#user@user:*
    - agent:rogue#user@user:*
    - agent:rogue#stopped@user:*
    - task:trip#agent@agent:planner
    - task:trip#user@user:ann
    - task:trip#begun@document:*
    - task:trip#begun@tool:*
    - task:trip#approved-read@document:plan
    - 'task:trip#approved-call@tool:send-mail[to == "bob@example.com"]'
    - task:flights#agent@agent:searcher
    - task:flights#delegated-by@task:trip
    - task:flights#approved-read@document:plan
    - task:flights#approved-read@document:diary
    - task:prices#agent@agent:rogue
    - task:prices#delegated-by@task:flights
    - task:prices#approved-read@document:plan

tests:
  - name: the task of the planner is one of ann
    check: task:trip#acts-for@user:ann
    expect: true

  - name: it is none of bob
    check: task:trip#acts-for@user:bob
    expect: false

  - name: what was delegated is done for ann, too
    check: task:flights#acts-for@user:ann
    expect: true

  - name: a stopped agent acts for nobody
    check: task:prices#acts-for@user:ann
    expect: false

  - name: the plan was approved
    check: task:trip#may-read@document:plan
    expect: true

  - name: nothing else was
    check: task:trip#may-read@document:diary
    expect: false

  - name: the plan was passed on
    check: task:flights#may-read@document:plan
    expect: true

  - name: an agent cannot pass on what was not approved for it
    check: task:flights#may-read@document:diary
    expect: false

  - name: three tasks deep, the approval of each counts
    check: task:prices#may-read@document:plan
    expect: true

  - name: the mail that was approved may be sent
    check: task:trip#may-call@tool:send-mail
    context: {"to": "bob@example.com"}
    expect: true

  - name: a mail to somebody else may not
    check: task:trip#may-call@tool:send-mail
    context: {"to": "eve@example.com"}
    expect: false

  - name: the right to send mails was not passed on
    check: task:flights#may-call@tool:send-mail
    context: {"to": "bob@example.com"}
    expect: false

  - name: ann reads the plan, which the task of her agent cannot do without her
    check: document:plan#viewer@user:ann
    expect: true

  - name: everybody may send mails
    check: tool:send-mail#caller@user:ann
    expect: true
`,Js=`version 1.0

type user
    relation parent
    inherit parent if
        relation parent on parent [user]

type document
    relation owner [user]

    relation viewer [user]
    inherit viewer if
        relation owner

type tool
    relation caller [user, user:*]

/// A program that acts for users.
type agent
    relation user [user, user:*]

    /// One warrant, to user:*, stops all that the agent does.
    relation stopped [user, user:*]

    relation may-act []
    inherit may-act if
        all_of
            relation user
            none_of
                relation stopped

/// What an agent does for a user, until it expires. Nothing is allowed before it is approved.
type task
    relation agent [agent]
    relation user [user]

    /// The task whose agent delegated a part of it.
    relation delegated-by [task]

    /// Documents that the user approved, and those that a delegating agent passed on.
    relation approved-read [document]

    /// The same for tools; a policy says which arguments.
    relation approved-call [tool]

    /// That the user began the task, so that there is no other whose approvals would limit it.
    relation begun [document:*, tool:*]

    /// Whom the task acts for, if no agent of the chain is stopped.
    relation acts-for []
    inherit acts-for if
        all_of
            any_of
                relation user
                relation acts-for on delegated-by [task]
            relation may-act on agent [agent]

    relation may-read []
    inherit may-read if
        all_of
            relation approved-read
            any_of
                relation begun
                relation may-read on delegated-by [task]

    relation may-call []
    inherit may-call if
        all_of
            relation approved-call
            any_of
                relation begun
                relation may-call on delegated-by [task]
`,Ks=`name: repositories of an organization, its nested teams, outside collaborators and protected branches
model_file: model.txt

setup:
  warrants:
    - organization:acme#owner@user:ada
    - organization:acme#member@user:bo
    - organization:acme#member@user:cy
    - organization:acme#member@user:di
    - team:engineering#member@team:backend#member
    - team:backend#maintainer@user:bo
    - team:backend#member@user:cy
    - repository:api#organization@organization:acme
    - repository:api#maintain@user:bo
    - repository:api#write@team:engineering#member
    - repository:api#read@organization:acme#member
    - repository:api#triage@user:otto
    - repository:docs#organization@organization:acme
    - repository:docs#read@user:*
    - repository:legacy#organization@organization:acme
    - repository:legacy#write@team:engineering#member
    - repository:legacy#archived@user:*
    - branch:api-main#repository@repository:api
    - branch:api-main#protected@user:*
    - branch:api-feature#repository@repository:api

tests:
  - name: cy is in a team of the team that writes there
    check: repository:api#write@user:cy
    expect: true

  - name: who may push to the repository may push to its branches
    check: branch:api-feature#can-push@user:cy
    expect: true

  - name: the branch is protected, and cy does not maintain the repository
    check: branch:api-main#can-push@user:cy
    expect: false

  - name: a maintainer of the repository pushes to protected branches
    check: branch:api-main#can-push@user:bo
    expect: true

  - name: an owner of the organization administers its repositories
    check: repository:api#admin@user:ada
    expect: true

  - name: every member of the organization reads it
    check: repository:api#read@user:di
    expect: true

  - name: di is in no team
    check: repository:api#write@user:di
    expect: false

  - name: otto is an outside collaborator with this one role
    check: repository:api#triage@user:otto
    expect: true

  - name: each role has those below it
    check: repository:api#read@user:otto
    expect: true

  - name: a role has none of those above it
    check: repository:api#write@user:otto
    expect: false

  - name: it is public
    check: repository:docs#read@user:eve
    expect: true

  - name: public to read is not public to write
    check: repository:docs#write@user:eve
    expect: false

  - name: the role is still there
    check: repository:legacy#write@user:cy
    expect: true

  - name: nobody pushes to an archived repository
    check: repository:legacy#can-push@user:cy
    expect: false

  - name: not even an owner of the organization
    check: repository:legacy#can-push@user:ada
    expect: false

  - name: a maintainer is a member, and a member of the team within it
    check: team:engineering#member@user:bo
    expect: true

  - name: an owner of the organization is a member of it
    check: organization:acme#member@user:ada
    expect: true

  - name: who writes there also reads
    check: repository:api#read@user:cy
    expect: true
`,Qs=`version 1.0

// Every new store has this type.
type user
    relation parent
    inherit parent if
        relation parent on parent [user]

type organization
    relation owner [user]

    relation member [user]
    inherit member if
        relation owner

/// Teams can be members of other teams.
type team
    relation maintainer [user]

    relation member [user, team#member]
    inherit member if
        relation maintainer

/// Each role has those below it.
type repository
    relation organization [organization]

    /// An archived repository is given to every user.
    relation archived [user:*]

    relation admin [user, team#member]
    inherit admin if
        relation owner on organization [organization]

    relation maintain [user, team#member]
    inherit maintain if
        relation admin

    relation write [user, team#member]
    inherit write if
        relation maintain

    relation triage [user, team#member]
    inherit triage if
        relation write

    relation read [user, user:*, team#member, organization#member]
    inherit read if
        relation triage

    relation can-push []
    inherit can-push if
        all_of
            relation write
            none_of
                relation archived

type branch
    relation repository [repository]
    relation protected [user:*]

    relation can-push []
    inherit can-push if
        all_of
            relation can-push on repository [repository]
            any_of
                none_of
                    relation protected
                relation maintain on repository [repository]
`,Vs=`name: documents in folders, shared with people, groups and everyone, and kept from some
model_file: model.txt

setup:
  warrants:
    - group:engineering#member@user:ann
    - group:engineering#member@user:bob
    - group:engineering#member@group:interns#member
    - group:interns#member@user:kim
    - group:finance#member@user:eve
    - folder:company#owner@user:root
    - folder:engineering#parent@folder:company
    - folder:engineering#viewer@group:engineering#member
    - folder:finance#parent@folder:company
    - document:roadmap#parent@folder:engineering
    - document:roadmap#editor@user:ann
    - document:roadmap#viewer@user:eve
    - document:roadmap#blocked@user:kim
    - document:handbook#parent@folder:company
    - document:handbook#viewer@user:*
    - document:payroll#parent@folder:finance
    - 'document:payroll#viewer@group:finance#member[network == "office"]'
    - 'document:payroll#editor@user:eve[network == "office" && hour >= 8 && hour < 18]'

tests:
  - name: bob is in the group that may view the folder of the document
    check: document:roadmap#can-read@user:bob
    expect: true

  - name: kim would be a viewer by the group, but is blocked
    check: document:roadmap#can-read@user:kim
    expect: false

  - name: finance may view the payroll when the context says that they are in the office
    check: document:payroll#can-read@user:eve
    context: {"network": "office"}
    expect: true

  - name: the policy of that warrant is not satisfied elsewhere
    check: document:payroll#can-read@user:eve
    context: {"network": "cafe"}
    expect: false

  - name: without context the policy has nothing to be satisfied by
    check: document:payroll#can-read@user:eve
    expect: false

  - name: in the office and in working hours eve edits the payroll
    check: document:payroll#can-write@user:eve
    context: {"network": "office", "hour": 9}
    expect: true

  - name: it is past working hours
    check: document:payroll#can-write@user:eve
    context: {"network": "office", "hour": 20}
    expect: false

  - name: an intern is in engineering, by a group in a group; only can-read minds the block
    check: document:roadmap#viewer@user:kim
    expect: true

  - name: ann is its editor
    check: document:roadmap#can-write@user:ann
    expect: true

  - name: the group may only view
    check: document:roadmap#can-write@user:bob
    expect: false

  - name: it is shared with eve herself, whatever the folder says
    check: document:roadmap#can-read@user:eve
    expect: true

  - name: who owns the topmost folder owns everything below it
    check: document:roadmap#can-share@user:root
    expect: true

  - name: an editor is no owner
    check: document:roadmap#can-share@user:ann
    expect: false

  - name: 'it is public: every user is a viewer, known or not'
    check: document:handbook#can-read@user:zoe
    expect: true

  - name: public to read is not public to write
    check: document:handbook#can-write@user:zoe
    expect: false

  - name: engineering has nothing on that folder or above it
    check: folder:finance#viewer@user:bob
    expect: false

  - name: the owner of a folder edits the folders in it
    check: folder:engineering#editor@user:root
    expect: true

  - name: and sees them
    check: folder:engineering#viewer@user:root
    expect: true

  - name: and edits the documents in them
    check: document:roadmap#editor@user:root
    expect: true

  - name: and views those
    check: document:roadmap#viewer@user:root
    expect: true

  - name: who is blocked does not write either
    check: document:roadmap#can-write@user:kim
    expect: false
`,Zs=`// lint: ignore direct_permission
// Nothing says here who may be given what, so that anything can be tried. A model of your own should.
version 1.0

type group
    relation member

type folder
    relation parent

    relation owner
    inherit owner if
        relation owner on parent [folder]

    relation editor
    inherit editor if
        any_of
            relation owner
            relation editor on parent [folder]

    relation viewer
    inherit viewer if
        any_of
            relation editor
            relation viewer on parent [folder]

type document
    relation parent
    relation blocked

    relation owner
    inherit owner if
        relation owner on parent [folder]

    relation editor
    inherit editor if
        any_of
            relation owner
            relation editor on parent [folder]

    relation viewer
    inherit viewer if
        any_of
            relation editor
            relation viewer on parent [folder]

    relation can-read
    inherit can-read if
        all_of
            relation viewer
            none_of
                relation blocked

    relation can-write
    inherit can-write if
        all_of
            relation editor
            none_of
                relation blocked

    relation can-share
    inherit can-share if
        relation owner
`,Ys=`name: two companies in one application, with roles that mean something only within one of them
model_file: model.txt

setup:
  warrants:
    - tenant:acme#admin@user:ann
    - tenant:acme#manager@user:max
    - tenant:acme#member@user:bob
    - tenant:globex#admin@user:gus
    - tenant:globex#member@user:bob
    - project:website#tenant@tenant:acme
    - project:reactor#tenant@tenant:globex
    - project:reactor#viewer@user:ann
    - role:clerk#member@role:accountant
    - 'role:accountant#member@user:bob[tenant == "acme"]'
    - 'role:clerk#member@user:bob[tenant == "globex"]'
    - permission:view-ledger#member@role:clerk
    - permission:close-ledger#member@role:accountant
    - role:acme-approver#member@user:max
    - role:acme-approver#member@user:gus
    - invoice:acme-17#tenant@tenant:acme
    - invoice:acme-17#reader@tenant:acme#member
    - invoice:acme-17#approver@role:acme-approver#member

tests:
  - name: max manages the tenant that the project belongs to
    check: project:website#editor@user:max
    expect: true

  - name: at acme bob is an accountant
    check: permission:close-ledger#member@user:bob
    context: {"tenant": "acme"}
    expect: true

  - name: at globex bob is only a clerk
    check: permission:close-ledger#member@user:bob
    context: {"tenant": "globex"}
    expect: false

  - name: a clerk may look
    check: permission:view-ledger#member@user:bob
    context: {"tenant": "globex"}
    expect: true

  - name: an accountant has every permission of a clerk
    check: permission:view-ledger#member@user:bob
    context: {"tenant": "acme"}
    expect: true

  - name: without a tenant none of bob's roles counts
    check: permission:view-ledger#member@user:bob
    expect: false

  - name: the admin of a tenant owns its projects
    check: project:website#owner@user:ann
    expect: true

  - name: a member of the tenant sees its projects
    check: project:website#viewer@user:bob
    expect: true

  - name: a member is no manager
    check: project:website#editor@user:bob
    expect: false

  - name: the admin of one tenant is nobody in another
    check: project:website#viewer@user:gus
    expect: false

  - name: ann was invited to this one project of the other tenant
    check: project:reactor#viewer@user:ann
    expect: true

  - name: the invitation is to look, and at home one is admin only at home
    check: project:reactor#editor@user:ann
    expect: false

  - name: max has the role, and is of the tenant
    check: invoice:acme-17#can-approve@user:max
    expect: true

  - name: 'gus was given the role by mistake: without the tenant it counts for nothing'
    check: invoice:acme-17#can-approve@user:gus
    expect: false

  - name: all members of the tenant read its invoices
    check: invoice:acme-17#can-read@user:bob
    expect: true

  - name: reading is not approving
    check: invoice:acme-17#can-approve@user:bob
    expect: false

  - name: an owner edits
    check: project:website#editor@user:ann
    expect: true

  - name: a manager sees what she edits
    check: project:website#viewer@user:max
    expect: true

  - name: who approves an invoice reads it
    check: invoice:acme-17#can-read@user:max
    expect: true
`,Xs=`version 1.0

// Every new store has these types: users, tenants, and roles and permissions that contain each other.
type user
    relation parent
    inherit parent if
        relation parent on parent [user]

type tenant
    relation admin

    relation manager
    inherit manager if
        relation admin

    relation member
    inherit member if
        relation manager

type role
    relation member
    inherit member if
        relation member on member [role]

type permission
    relation member
    inherit member if
        relation member on member [permission, role]

/// Managers and members of the tenant have roles on all of its projects.
type project
    relation tenant [tenant]

    relation owner [user]
    inherit owner if
        relation admin on tenant [tenant]

    relation editor [user]
    inherit editor if
        any_of
            relation owner
            relation manager on tenant [tenant]

    relation viewer [user]
    inherit viewer if
        any_of
            relation editor
            relation member on tenant [tenant]

/// Only members of the tenant have anything on an invoice, whatever roles they were given.
type invoice
    relation tenant [tenant]
    relation reader [user, tenant#member, role#member]
    relation approver [user, role#member]

    relation can-read []
    inherit can-read if
        all_of
            relation member on tenant [tenant]
            any_of
                relation reader
                relation approver

    relation can-approve []
    inherit can-approve if
        all_of
            relation member on tenant [tenant]
            relation approver
`,ea=/warrants:\n((?:\s+- .*\n)+)/,na=/- '?(.*?)'?$/gm,ta=/^(.*?)(?:\[(.*)\])?$/,ra={"document-sharing":{model:Zs,tests:Vs},"multi-tenant-rbac":{model:Xs,tests:Ys},"code-hosting":{model:Qs,tests:Ks},agents:{model:Js,tests:Hs}};async function sa(n,t){const{model:r,tests:s}=ra[n],{objectTypes:a}=await L("v2/model/convert",{text:r,accept:"application/json"});t&&!a.some(({type:c})=>c==="user")&&a.unshift({type:"user",relations:{}}),await B("v2/object-types",{method:"PUT",query:t?{replace:"true"}:{},body:a});const[,i=""]=ea.exec(s)??[],o=[...i.matchAll(na)].map(([,c=""])=>aa(c));await B("v2/writes",{body:{create:{warrants:o}}}),await rt()}function aa(n){const[,t="",r]=ta.exec(n)??[],s=Mn(t);if(!s)throw new Error(`the example has a warrant that cannot be read: ${n}`);return r?{...s,policy:r}:s}const ia=1e3,Qn=1e4;async function vn(n,t=Qn){const r=[];let s;do{const a=await n({limit:ia,nextCursor:s});r.push(...a.results),s=a.nextCursor}while(s&&r.length<t);return{rows:r.slice(0,t),isCut:s!==void 0||r.length>t}}const pr=[["of",g.ofAccess],["objectType",g.ofType],["relation",g.ofRelation],["subjectType",g.ofSubjectType]];function Me(n,t=""){return`v2/webhooks/${encodeURIComponent(n)}${t&&`/${t}`}`}function it(n){return pr.flatMap(([r,s])=>{const a=n[r];return a?[g.only(s,a)]:[]}).join(", ")||g.allChanges}function Vn(n){const t=r=>r?.join(", ")??"";return{url:n?.url??"",description:n?.description??"",of:t(n?.of),objectType:t(n?.objectType),relation:t(n?.relation),subjectType:t(n?.subjectType)}}function fr(n){const t={url:n.url.trim(),description:n.description.trim()||null};for(const[r]of pr)t[r]=oa(n[r]);return t}function oa(n){const t=n.split(/[\s,]+/).filter(Boolean);return t.length>0?t:null}function ca(n){return n.map(t=>t.map(la).join(",")).join(`\r
`)+`\r
`}function la(n){const t=/^(?:\s*[=+\-@＝＋－＠]|[\t\r\n])/.test(n)?`'${n}`:n;return/[",\r\n]/.test(t)?`"${t.replaceAll('"','""')}"`:t}function da(n){const t=n.map(r=>[r.objectType,r.objectId+(r.subjectRelation?`#${r.subjectRelation}`:""),r.relation,String(r.isImplicit),r.warrant?Ie(r.warrant):""]);return[["type","id","relation","implicit","warrant"],...t]}function ua(n){const t=n.map(r=>[I(r),r.meta?JSON.stringify(r.meta):"",r.createdAt??""]);return[["object","meta","created"],...t]}function ha(n){const t=n.map(r=>[mn(r.subject),r.relation,I(r),r.policy??"",r.startsAt??"",r.expiresAt??"",r.createdAt??""]);return[["subject","relation","object","policy","from","until","created"],...t]}function pa(n){const t=n.map(r=>[r.name,r.prefix,r.scopes.join(", "),r.objectTypes?.join(", ")??"",r.createdAt,r.createdBy,r.lastUsedAt??"",r.expiresAt??""]);return[["name","prefix","scopes","types","created","creator","used","expires"],...t]}function fa(n){const t=n.map(r=>[r.url,r.description??"",it(r),r.state,r.reason??"",r.createdAt,r.createdBy]);return[["url","description","changes","state","reason","created","creator"],...t]}function ma(n){return Array.from(n.rows,r=>Array.from(r.cells).filter(s=>!s.matches(".row-actions, .actions-heading"))).map(r=>r.map(va))}function va(n){if(n.dataset.text!==void 0)return n.dataset.text;const t=n.cloneNode(!0);for(const r of t.querySelectorAll("time"))r.textContent=r.dateTime;return(t.textContent??"").replace(/\s+/g," ").trim()}function pn(n,t,r){const s=URL.createObjectURL(new Blob([r],{type:t})),a=document.createElement("a");a.href=s,a.download=n,a.click(),setTimeout(()=>URL.revokeObjectURL(s),0)}function bn({count:n,onSubmit:t,children:r}){const[s,a]=f(!1);return e("form",{class:s?"filters":"filters folded",onSubmit:i=>{i.preventDefault(),t?.()},children:[e("button",{type:"button",class:"quiet unfold","aria-expanded":s,onClick:()=>a(!s),children:s?J.hideFilters:n>0?J.filters(n):J.filtersAlone}),r]})}const ba=500,ga=/^(.*?)\[(.*)\]$/s;function ya(n){if(n.trimStart().startsWith("[")){const t=jt(n,0);if(Array.isArray(t))return t.map((r,s)=>Tt(r,s+1))}return n.split(`
`).flatMap((t,r)=>{const s=t.trim();return s===""||s.startsWith("#")?[]:s.startsWith("{")?[Tt(jt(s,r+1),r+1)]:[{number:r+1,warrant:ot(s,r+1)}]})}function jt(n,t){try{return JSON.parse(n)}catch{throw Sn(t,Y.notJson)}}function ot(n,t){const[,r=n,s]=ga.exec(n)??[],a=Mn(r);if(!a)throw Sn(t,Y.notAWarrant);return s?{...a,policy:s}:a}function Tt(n,t){if(typeof n=="string")return{number:t,warrant:ot(n,t)};if(typeof n=="object"&&n!==null){if("relation"in n)return{number:t,warrant:n};if("objectId"in n)return{number:t,object:n};if("relations"in n)throw Sn(t,Y.isType)}throw Sn(t,Y.neither)}function Sn(n,t){return new j(400,"invalid",n>0?Y.line(n,t):t)}async function mr(n,t,r){const s={done:0,of:n.length,created:0,unchanged:0};for(t({...s});s.done<n.length&&!r();){const a=n.slice(s.done,s.done+ba),i=await wa(a);s.done+=a.length,s.created+=i.created,s.unchanged+=i.unchanged,t({...s})}return s}async function wa(n){const t=n.filter(a=>a.warrant),r=n.filter(a=>a.object),s={...t.length>0?{warrants:t.map(a=>a.warrant)}:{},...r.length>0?{objects:r.map(a=>a.object)}:{}};try{return await B("v2/writes",{body:{create:s}})}catch(a){if(!(a instanceof j))throw a;const i=/(warrants|objects)\[(\d+)\]/.exec(a.parameter),o=i&&(i[1]==="warrants"?t:r)[Number(i[2])];throw o?new j(a.status,a.code,Y.line(o.number,a.message)):a}}const ka=67108864;function ja({onDone:n,onClose:t}){const[r,s]=f(),[a,i]=f(),o=ee(!1);async function c(){if(!r)throw new j(400,"invalid",Y.noFile);if(r.size>ka)throw new j(400,"invalid",Y.tooLarge);i(void 0);const l=await mr(ya(await r.text()),i,()=>o.current),d=l.done<l.of?Y.stopped(l.done,l.of):Y.imported(l.of);n(Y.result(d,l.created,l.unchanged))}return e(G,{title:Y.title,action:C.import,onConfirm:c,onClose:()=>{o.current=!0,t()},children:[e("div",{class:"field",children:[e("label",{for:"import-file",children:Y.file}),e("input",{id:"import-file",type:"file",required:!0,onChange:l=>s(l.currentTarget.files?.[0])}),e("span",{class:"hint",children:Y.advice})]}),a&&e("div",{class:"field",children:[e("label",{for:"import-progress",children:Y.progress(a.done,a.of)}),e("progress",{id:"import-progress",max:a.of,value:a.done})]})]})}const Ta=1e3,Ct=4;async function Ca(n,t,r,s){const a=[];for(let i=0;i<n.length;i+=Ct){const o=n.slice(i,i+Ct).map(async c=>{const l={objectType:c,limit:Ta,asOf:t},[d,u]=await Promise.all(["v2/objects","v2/warrants"].map(h=>xa(h,l,r)));return{type:c,objects:d,warrants:u}});a.push(...await Promise.all(o)),s([...a])}}async function xa(n,t,r){const{results:s,nextCursor:a}=await L(n,{query:t,signal:r});return{number:s.length,isCut:a!==void 0}}async function Sa(n,t){return(await L(`v2/stores/${encodeURIComponent(n)}`,{signal:t})).usage}function wn({number:n,isCut:t}){return t?Ee.moreThan(n):n.toLocaleString()}function vr({label:n,table:t,readLines:r}){const[s,a]=f(),[i,o]=f(""),[c,l]=f(!1),d=ee(void 0);re(()=>()=>d.current?.abort(),[]);async function u(){return r?(d.current=new AbortController,r(d.current.signal)):{lines:t.current?ma(t.current):[],isCut:!1}}async function h(){if(!c){a(void 0),o(r?C.readingRows:""),l(!0);try{const{lines:p,isCut:m}=await u();pn(`${n.toLowerCase().replace(/[^a-z0-9]+/g,"-")}.csv`,"text/csv",ca(p)),o(C.savedRows(p.length-1,m))}catch(p){if(d.current?.signal.aborted)return;if(!(p instanceof j))throw p;o(""),a(p)}finally{l(!1)}}}return e("div",{class:"export",children:[e("span",{class:"hint",role:"status",children:i}),e("button",{type:"button",class:"quiet","aria-disabled":c,onClick:h,children:C.exportCsv(n)}),s&&e(R,{fault:s})]})}function br({label:n,children:t}){const r=ee(null),[s,a]=f({before:!1,after:!1});return re(()=>{const i=r.current;if(!i)return;const o=()=>{const{scrollLeft:l,scrollWidth:d,clientWidth:u}=i,h=l>1,p=l+u<d-1;a(m=>m.before===h&&m.after===p?m:{before:h,after:p})},c=new ResizeObserver(o);for(const l of[i,...i.children])c.observe(l);return i.addEventListener("scroll",o,{passive:!0}),()=>{c.disconnect(),i.removeEventListener("scroll",o)}},[]),e("div",{class:`scroller${s.before?" more-before":""}${s.after?" more-after":""}`,children:e("div",{class:"scrolled",ref:r,tabIndex:0,role:"region","aria-label":n,children:t})})}function we({label:n,headings:t,hasActions:r,readLines:s,children:a}){const i=ee(null);return e("div",{class:"exported",children:[e(br,{label:n,children:e("table",{ref:i,children:[e("thead",{children:e("tr",{children:[t.map(o=>e("th",{scope:"col",children:o},o)),r&&e("th",{scope:"col",class:"actions-heading",children:e("span",{class:"sr",children:le.actions})})]})}),e("tbody",{children:a})]})}),e(vr,{label:n,table:i,readLines:s})]})}const Oa="default";function Aa({turn:n}){const[t,r]=f(!1);return e("details",{class:"card",open:t,onToggle:s=>r(s.currentTarget.open),children:[e("summary",{children:Ee.title}),t&&e(Ea,{turn:n})]})}function Ea({turn:n}){const t=K.value??Ze(),[r,s]=f([]),a=$(async i=>(await Ca(t,ce.value,i,s),!0),[t.join(),ce.value,n]);return e("div",{class:"numbers",children:[ce.value===void 0&&!Se({scope:"stores"})&&e(Ia,{turn:n}),a.fault&&e(R,{fault:a.fault,retry:a.reload}),r.length>0&&e(we,{label:Ee.title,headings:[v.type,x.objects,Ee.warrants],children:r.map(({type:i,objects:o,warrants:c})=>e("tr",{children:[e("td",{class:"name",children:i}),e("td",{"data-text":wn(o),children:e("a",{href:_("data",{type:i}),children:[wn(o),e("span",{class:"sr",children:[" ",Ee.objectsOf(i)]})]})}),e("td",{"data-text":wn(c),children:e("a",{href:_("data",{show:"warrants",object:`${i}:`}),children:[wn(c),e("span",{class:"sr",children:[" ",Ee.warrantsOf(i)]})]})})]},i))}),a.isLoading&&e(P,{what:Ee.counting(r.length,t.length)})]})}function Ia({turn:n}){const t=$(a=>Sa(fe??Oa,a),[n]);if(!t.value)return null;const{objects:r,warrants:s}=t.value;return e("p",{children:Ee.inAll(r,s)})}function en({page:n}){const{page:t,parameters:r}=U.value;return!n.prevCursor&&!n.nextCursor?null:e("nav",{class:"pager","aria-label":Wn.title,children:[e("button",{type:"button",class:"quiet",disabled:!n.prevCursor,onClick:()=>E(t,{...r,prev:n.prevCursor,next:void 0}),children:Wn.previous}),e("button",{type:"button",class:"quiet",disabled:!n.nextCursor,onClick:()=>E(t,{...r,next:n.nextCursor,prev:void 0}),children:Wn.next})]})}function X({time:n,isExact:t=!1}){return e("time",{dateTime:n,title:n,children:t?He(n):er(n)})}const Ra=1e3,Je=1e3,qa=5;function $n({objectType:n,objectId:t}){return`v2/objects/${encodeURIComponent(n)}/${encodeURIComponent(t)}`}async function gr(n,t,r){const s=await je(n,{query:t,signal:r});return{value:await s.json(),token:s.headers.get("Warrant-Token")??""}}function On(n,t){return gr($n(n),{},t)}async function An(n,t){const r=new Map,{objectType:s,objectId:a}=n;let i;for(const c of[{objectType:s,objectId:a},{subjectType:s,subjectId:a}]){let l;do{const d={...c,limit:Ra,nextCursor:l,asOf:i},u=await gr("v2/warrants",d,t);i??=u.token;for(const h of u.value.results)Ma(h,n)&&r.set(de(h),h);l=u.value.nextCursor}while(l&&r.size<=Je)}const o=[...r.values()];return{value:{warrants:o.slice(0,Je),isCut:o.length>Je},token:i??""}}function Ma({objectType:n,objectId:t,subject:r},s){return n===s.objectType&&t===s.objectId||r.objectType===s.objectType&&r.objectId===s.objectId}async function Nn(n,t,r,s){let{token:a}=n;for(let i=1;;i+=1){try{await B("v2/writes",{body:{preconditions:[{revision:a}],...r}});return}catch(c){if(!(c instanceof j)||c.code!=="precondition_failed"||i===qa)throw c}const o=await t();if(JSON.stringify(o.value)!==JSON.stringify(n.value))throw new j(409,"changed",s);a=o.token}}function _a(n,t,r){const{objectType:s,meta:a}=n,i={objectType:s,objectId:n.objectId},o=l=>l.objectType===s&&l.objectId===i.objectId?{...l,objectId:r}:l,c=t.map(l=>{const{startsAt:d,expiresAt:u}=l,h=o(Ke(l));return{...h,subject:o(h.subject),...d?{startsAt:d}:{},...u?{expiresAt:u}:{}}});return{delete:{warrants:t.map(Ke),objects:[i]},create:{objects:[{objectType:s,objectId:r,...a?{meta:a}:{}}],warrants:c}}}function yr(n){if(!n.trim())return{};try{const t=JSON.parse(n);if(typeof t=="object"&&t!==null&&!Array.isArray(t))return t}catch(t){throw new j(400,"invalid",k.metaNotJson(t instanceof Error?t.message:""))}throw new j(400,"invalid",k.metaNotAnObject)}function ct(n){return k.changed(I(n))}const xt=Je/2-1,Dn=5;function wr({text:n,onInput:t}){return e("div",{class:"field",children:[e("label",{for:"meta",children:v.meta}),e("textarea",{id:"meta",class:"code",rows:Math.min(Math.max(n.split(`
`).length,4),14),spellcheck:!1,placeholder:ve.meta,"aria-describedby":"meta-hint",value:n,onInput:r=>t(r.currentTarget.value)}),e("span",{class:"hint",id:"meta-hint",children:k.meta})]})}function $a({type:n="",onClose:t}){const[r,s]=f({type:n,id:"",meta:""}),a=ee(void 0);async function i(){const o=yr(r.meta),c=r.type.trim(),l=r.id.trim();if(l){const d={objectType:c,objectId:l};await Na(d,o),a.current=d}else a.current=await B("v2/objects",{body:{objectType:c,meta:o}})}return e(G,{title:k.create,action:C.create,isReady:r.type.trim()!=="",onConfirm:i,onClose:()=>{t(),a.current&&E("object",{name:I(a.current)})},children:[e(me,{label:v.type,placeholder:ve.type,value:r.type,complete:ls,onInput:o=>s(c=>({...c,type:o})),isRequired:!0}),e("div",{class:"field",children:[e("label",{for:"object-id",children:v.id}),e("input",{id:"object-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:ve.id,"aria-describedby":"object-id-hint",value:r.id,onInput:o=>s({...r,id:o.currentTarget.value})}),e("span",{class:"hint",id:"object-id-hint",children:k.emptyId})]}),e(wr,{text:r.meta,onInput:o=>s({...r,meta:o})})]})}async function Na(n,t){try{await B("v2/writes",{body:{preconditions:[{absent:n}],create:{objects:[{...n,meta:t}]}}})}catch(r){throw!(r instanceof j)||r.code!=="precondition_failed"?r:new j(400,"exists",k.exists(I(n)))}}function La({object:n,onDone:t,onClose:r}){const[s,a]=f(),i=$(d=>On(n,d),[I(n)]),o=i.value,c=s??(o?JSON.stringify(o.value.meta??{},null,2):"");async function l(){if(!o)return;const d={create:{objects:[{...n,meta:yr(c)}]}};await Nn(o,()=>On(n),d,ct(n)),t(k.savedMeta(I(n)))}return e(G,{title:k.metaOf(I(n)),action:C.save,isReady:o!==void 0,onConfirm:l,onClose:r,children:[i.fault&&e(R,{fault:i.fault,retry:i.reload}),!o&&!i.fault&&e(P,{what:k.reading}),o&&e(wr,{text:c,onInput:a})]})}function Pa({object:n,onDone:t,onClose:r}){const s=I(n),a=$(c=>An(n,c),[s]),i=a.value;async function o(){i&&(i.value.isCut?await B($n(n),{method:"DELETE"}):await Nn(i,()=>An(n),{delete:{objects:[n]}},ct(n)),t(k.deleted(s)))}return e(G,{title:k.deleteTitle(s),action:C.delete,isDangerous:!0,isReady:i!==void 0,onConfirm:o,onClose:r,children:[a.fault&&e(R,{fault:a.fault,retry:a.reload}),!i&&!a.fault&&e(P,{what:k.findingEnds}),i&&e(w,{children:[e(kr,{warrants:i.value.warrants,isCut:i.value.isCut,verb:"delete"}),i.value.isCut?e("p",{children:k.tooMany}):i.value.warrants.length>0&&e(Ye,{proposal:{create:[],delete:i.value.warrants.map(Ke)}}),e("p",{class:"hint",children:k.wildcards(n.objectType)})]})]})}function kr({warrants:n,isCut:t,verb:r}){return n.length===0?e("p",{children:k.notNamed}):e(w,{children:[e("p",{children:k.ends(n.length,t,r==="move")}),e("ul",{class:"changes",children:[n.slice(0,Dn).map(s=>e("li",{children:[e("span",{class:`verb ${r}`,children:xe[r]})," ",e("code",{children:de(s)})]},de(s))),n.length>Dn&&e("li",{class:"hint",children:le.andMore(n.length-Dn)})]})]})}function Wa({object:n,onClose:t}){const r=I(n),[s,a]=f(n.objectId),[i,o]=f(!1),c=ee(!1),l=$(y=>St(n,y),[r]),d=l.value,u=s.trim(),h=d!==void 0&&d.value.naming.warrants.length>xt,p=d&&_a(d.value.stored,d.value.naming.warrants,u),m=u!==""&&u!==n.objectId;async function b(){if(!d||!p)return;const y={objectType:n.objectType,objectId:u};await Da(y),await Nn(d,()=>St(n),p,ct(n)),c.current=!0}return e(G,{title:k.renameTitle(r),action:C.rename,isReady:m&&d!==void 0&&!h,onConfirm:b,onClose:()=>{t(),c.current&&E("object",{name:`${n.objectType}:${u}`})},children:[l.fault&&e(R,{fault:l.fault,retry:l.reload}),!d&&!l.fault&&e(P,{what:k.findingNames}),e("div",{class:"field",children:[e("label",{for:"new-id",children:k.newId}),e("input",{id:"new-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,required:!0,value:s,onInput:y=>{a(y.currentTarget.value),o(!1)}})]}),d&&h&&e("p",{children:k.tooManyToRename(xt)}),d&&p&&!h&&e(w,{children:[e(kr,{warrants:d.value.naming.warrants,isCut:!1,verb:"move"}),i?e(Ye,{proposal:{create:p.create.warrants,delete:p.delete.warrants}}):d.value.naming.warrants.length>0&&e("button",{type:"button",class:"quiet",disabled:!m,onClick:()=>o(!0),children:ae.whatWouldChange}),e("p",{class:"hint",children:k.oneWrite(d.value.naming.warrants.some(y=>y.policy?.includes("expiresIn")))})]})]})}async function St(n,t){const r=await On(n,t),s=await An(n,t);return{value:{stored:r.value,naming:s.value},token:r.token}}async function Da(n){try{await On(n)}catch(t){if(t instanceof j&&t.status===404)return;throw t}throw new j(400,"exists",k.exists(I(n)))}const Fa=tr();function jr({object:n="",subject:t="",onDone:r,onClose:s}){const[a,i]=f({object:n,relation:"",subject:t,policy:"",expires:""}),[o,c]=f(),l=p=>m=>{c(void 0),i(b=>({...b,[p]:m}))};function d(){const p=Re(a.object),m=ds(a.subject);if(!p)throw new j(400,"invalid",ae.notAnObject);if(!m)throw new j(400,"invalid",ae.notASubject);const b={...p,relation:a.relation.trim(),subject:m};return a.policy.trim()&&(b.policy=a.policy.trim()),a.expires&&(b.expiresAt=new Date(a.expires).toISOString()),b}async function u(){const p=d();await B("v2/warrants",{body:p}),r(ae.created(Ie(p)))}function h(){try{c(d())}catch(p){if(!(p instanceof j))throw p;c(void 0)}}return e(G,{title:ae.create,action:C.create,onConfirm:u,onClose:s,children:[e(me,{label:v.subject,placeholder:ae.exampleOfSubject,value:a.subject,complete:nr,onInput:l("subject"),isRequired:!0}),e(me,{label:v.relation,placeholder:ve.relation,value:a.relation,complete:Fa,onInput:l("relation"),isRequired:!0}),e(me,{label:v.object,placeholder:ve.object,value:a.object,complete:Qe,onInput:l("object"),isRequired:!0}),e("details",{children:[e("summary",{children:ae.conditions}),e("div",{class:"field",children:[e("label",{for:"policy",children:ae.policy}),e("input",{id:"policy",type:"text",class:"code",placeholder:ve.policy,value:a.policy,onInput:p=>l("policy")(p.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"expires",children:v.expiresAt}),e("input",{id:"expires",type:"datetime-local",value:a.expires,onInput:p=>l("expires")(p.currentTarget.value)})]})]}),o?e(Ye,{proposal:{create:[o],delete:[]}}):e("button",{type:"button",class:"quiet",onClick:h,disabled:!a.object||!a.relation||!a.subject,children:ae.whatWouldChange})]})}function Ua({warrant:n,onDone:t,onClose:r}){const s=Ke(n);async function a(){await B("v2/warrants",{method:"DELETE",body:s}),t(ae.deleted(Ie(n)))}return e(G,{title:ae.deleteTitle,action:C.delete,isDangerous:!0,onConfirm:a,onClose:r,children:[e("ul",{class:"changes",children:e("li",{children:[e("span",{class:"verb delete",children:xe.delete})," ",e("code",{children:Ie(n)})]})}),e(Ye,{proposal:{create:[],delete:[s]}})]})}function Tr({warrants:n,onDone:t,readLines:r}){const[s,a]=f();return e(w,{children:[e(we,{label:x.warrants,headings:[v.subject,v.relation,v.object,v.condition,v.created],hasActions:!0,readLines:r,children:n.map(i=>e("tr",{children:[e("td",{children:e(rr,{subject:i.subject})}),e("td",{children:e("b",{children:st(i.relation)})}),e("td",{children:e(Ue,{object:i})}),e("td",{children:e(Ba,{warrant:i})}),e("td",{class:"time",children:i.createdAt&&e(X,{time:i.createdAt})}),e("td",{class:"row-actions",children:[!i.subject.relation&&i.subject.objectId!=="*"&&i.objectId!=="*"&&e("a",{href:_("why",{subject:I(i.subject),relation:i.relation,object:I(i)}),children:le.why(wt(i))}),e(F,{needs:{scope:"write"},class:"quiet",onClick:()=>a(i),children:le.delete(wt(i))})]})]},Ie(i)+(i.policy??"")))}),s&&e(Ua,{warrant:s,onDone:t,onClose:()=>a(void 0)})]})}function Ba({warrant:n}){return e(w,{children:[n.policy&&e("code",{children:us(n.policy)}),n.startsAt&&e("span",{class:"hint",children:le.from(e(X,{time:n.startsAt}))}),n.expiresAt&&e("span",{class:"hint",children:le.until(e(X,{time:n.expiresAt}))})]})}const Cr=50,tn={scope:"write"},lt={next:void 0,prev:void 0};function Ga(){const n=U.value.parameters.show==="warrants",{open:t}=U.value.parameters,[r,s]=f();re(()=>{t&&(ce.value===void 0&&!Se(tn)&&s(t),ye({open:void 0}))},[t]);const[a,i]=f("");return e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:x.data}),e("nav",{class:"tabs","aria-label":J.kinds,children:[e("a",{href:_("data"),"aria-current":n?void 0:"page",children:x.objects}),e("a",{href:_("data",{show:"warrants"}),"aria-current":n?"page":void 0,children:x.warrants})]}),e("div",{class:"actions",children:[e(at,{needs:tn}),e(F,{needs:tn,class:"quiet",onClick:()=>s("file"),children:J.importFile}),e(F,{needs:tn,class:"quiet",onClick:()=>s("object"),children:k.create}),e(F,{needs:tn,class:"primary",onClick:()=>s("warrant"),children:[e(Xe,{name:"plus"}),ae.create]})]})]}),a&&e(Oe,{children:e("p",{children:a})}),e(Aa,{turn:a}),n?e(Qa,{turn:a,onDone:i}):e(za,{turn:a}),r==="object"&&e($a,{type:U.value.parameters.type,onClose:()=>s(void 0)}),r==="warrant"&&e(jr,{onDone:i,onClose:()=>s(void 0)}),r==="file"&&e(ja,{onDone:i,onClose:()=>s(void 0)})]})}function za({turn:n}){const{type:t=K.value?.[0],q:r,sort:s,order:a,next:i,prev:o,at:c}=U.value.parameters,l=(h,p)=>{const m={objectType:t,q:r,sortBy:s,sortOrder:a,asOf:c,...h};return L("v2/objects",{query:m,signal:p})},d=async h=>{const{rows:p,isCut:m}=await vn(b=>l(b,h));return{lines:ua(p),isCut:m}},u=$(h=>l({limit:Cr,nextCursor:i,prevCursor:o},h),[t,r,s,a,i,o,c,n]);return e(w,{children:[e(bn,{count:[t,r].filter(Boolean).length,children:[e(Va,{label:v.type,name:"type",value:t}),e("div",{class:"field",children:[e("label",{for:"q",children:v.contains}),e("input",{id:"q",type:"search",value:r??"",placeholder:J.partOfObject,onChange:h=>ye({q:h.currentTarget.value||void 0,...lt})})]}),e(xr,{sorts:{objectId:v.id,createdAt:v.created}})]}),u.fault&&e(R,{fault:u.fault,retry:u.reload}),!u.value&&!u.fault&&e(P,{what:J.readingObjects}),u.value?.results.length===0&&e(Ha,{isFiltered:!!(t||r),onLoaded:u.reload}),u.value&&u.value.results.length>0&&e(w,{children:[e(Ja,{objects:u.value.results,readLines:d}),e(en,{page:u.value})]})]})}function Ha({isFiltered:n,onLoaded:t}){return n?e(Z,{title:J.noObject}):_e.value?.length===0?e(Z,{title:J.noObjects,children:[e("p",{children:J.noModel(_("model"))}),e(sr,{onDone:t})]}):e(Z,{title:J.noObjects,children:e("p",{children:J.noObjectsAdvice})})}function Ja({objects:n,readLines:t}){return e(we,{label:x.objects,headings:[v.object,v.meta,v.created],readLines:t,children:n.map(r=>e("tr",{children:[e("td",{children:e(Ue,{object:r})}),e("td",{class:"meta",children:ar(r.meta)}),e("td",{class:"time",children:e(X,{time:r.createdAt})})]},I(r)))})}const Ka=tr();function Qa({turn:n,onDone:t}){const r=U.value.parameters,{object:s="",relation:a="",subject:i="",order:o,next:c,prev:l,at:d}=r,[u,h]=f({object:s,relation:a,subject:i}),p=(O,ne)=>{const ue=Re(s),he=Re(i),nn={objectType:ue?.objectType??(s.replace(/:$/,"")||K.value?.[0]),objectId:ue?.objectId,relation:a,subjectType:he?.objectType??(i.replace(/:$/,"")||void 0),subjectId:he?.objectId,sortOrder:o,asOf:d,...O};return L("v2/warrants",{query:nn,signal:ne})},m=async O=>{const{rows:ne,isCut:ue}=await vn(he=>p(he,O));return{lines:ha(ne),isCut:ue}},b=$(O=>p({limit:Cr,nextCursor:c,prevCursor:l},O),[s,a,i,o,c,l,d,n]),y=O=>{E("data",{show:"warrants",order:o,...u,...O})},T=!!(s||a||i);return e(w,{children:[e(bn,{count:[s,a,i].filter(Boolean).length,onSubmit:()=>y({}),children:[e(me,{label:v.subject,placeholder:v.any,value:u.subject,complete:Qe,onInput:O=>h({...u,subject:O}),onChoose:O=>y({subject:O})}),e(me,{label:v.relation,placeholder:v.any,value:u.relation,complete:Ka,onInput:O=>h({...u,relation:O}),onChoose:O=>y({relation:O})}),e(me,{label:v.object,placeholder:K.value?.[0]?J.anyOf(K.value[0]):v.any,value:u.object,complete:Qe,onInput:O=>h({...u,object:O}),onChoose:O=>y({object:O})}),e(xr,{sorts:{createdAt:v.created}}),e("button",{type:"submit",class:"quiet",children:C.filter})]}),b.fault&&e(R,{fault:b.fault,retry:b.reload}),!b.value&&!b.fault&&e(P,{what:J.readingWarrants}),b.value?.results.length===0&&e(Z,{title:T?J.noWarrant:J.noWarrants,children:e("p",{children:T?J.noWarrantAdvice:J.noWarrantsAdvice})}),b.value&&b.value.results.length>0&&e(w,{children:[e(Tr,{warrants:b.value.results,onDone:t,readLines:m}),e(en,{page:b.value})]})]})}function Va({label:n,name:t,value:r}){const s=K.value??Ze();return e("div",{class:"field",children:[e("label",{for:t,children:n}),e("select",{id:t,value:r??"",onChange:a=>ye({[t]:a.currentTarget.value||void 0,...lt}),children:[!K.value&&e("option",{value:"",children:v.all}),r&&!s.includes(r)&&e("option",{value:r,children:r}),s.map(a=>e("option",{value:a,children:a},a))]})]})}function xr({sorts:n}){const{sort:t=Object.keys(n)[0],order:r="ASC"}=U.value.parameters;return e("div",{class:"field",children:[e("label",{for:"order",children:J.order}),e("select",{id:"order",value:`${t} ${r}`,onChange:s=>{const[a,i]=s.currentTarget.value.split(" ");ye({sort:a,order:i,...lt})},children:Object.entries(n).flatMap(([s,a])=>[e("option",{value:`${s} ASC`,children:J.ascending(a)},`${s} ASC`),e("option",{value:`${s} DESC`,children:J.descending(a)},`${s} DESC`)])})]})}const Za=[["history",x.pastChanges],["live",x.live]];function Sr(){return e("nav",{class:"tabs","aria-label":S.changes,children:Za.map(([n,t])=>e("a",{href:_(n),"aria-current":n===U.value.page?"page":void 0,children:t},n))})}const Ot=2,Ya=4e6;function Or(n,t){const[r,s]=[n.split(`
`),t.split(`
`)];let a=0;for(;a<r.length&&a<s.length&&r[a]===s[a];)a+=1;let i=0;for(;i<r.length-a&&i<s.length-a&&r.at(-1-i)===s.at(-1-i);)i+=1;const o=Xa(r.slice(a,r.length-i),s.slice(a,s.length-i));if(o===void 0)return;const c=l=>({sign:" ",text:l});return ei([...r.slice(0,a).map(c),...o,...r.slice(r.length-i).map(c)])}function Xa(n,t){const r=t.length+1;if((n.length+1)*r>Ya)return;const s=new Uint32Array((n.length+1)*r),a=(l,d)=>s[l*r+d]??0;for(let l=n.length-1;l>=0;l-=1)for(let d=t.length-1;d>=0;d-=1){const u=Math.max(a(l+1,d),a(l,d+1));s[l*r+d]=n[l]===t[d]?a(l+1,d+1)+1:u}const i=[];let[o,c]=[0,0];for(;o<n.length||c<t.length;){const[l,d]=[n[o],t[c]];l!==void 0&&l===d?(i.push({sign:" ",text:l}),[o,c]=[o+1,c+1]):l!==void 0&&(d===void 0||a(o+1,c)>=a(o,c+1))?(i.push({sign:"-",text:l}),o+=1):(i.push({sign:"+",text:d??""}),c+=1)}return i}function ei(n){const t=new Set;for(const[r,{sign:s}]of n.entries())if(s!==" ")for(let a=r-Ot;a<=r+Ot;a+=1)t.add(a);return n.flatMap((r,s)=>t.has(s)?[r]:t.has(s-1)&&n.slice(s).some(a=>a.sign!==" ")?[{sign:" ",text:""}]:[])}const Ar=Number.MAX_SAFE_INTEGER,Zn=/^([a-z_]+):/;function ni(n,t){const r=ti(n,t.split(`
`));return r&&{...r,code:"",message:n.split(`
`,1)[0]??n}}function ti(n,t){const r=/\(line (\d+), column (\d+)\)$/.exec(n);if(r)return{line:Number(r[1]),column:Number(r[2])};const s=/^model:(\d+):(\d+):/.exec(n),a=t.findIndex(l=>/^model:\s*[|>]/.test(l))+1;if(s&&a>0)return{line:a+Number(s[1]),column:Yn(t[a]??"")+Number(s[2])};const i=/^(tests|setup\.warrants)\[(\d+)\]/.exec(n),o=/^the file: '([a-z_]+)'/.exec(n)?.[1]??/^[a-z_]+/.exec(n)?.[0],c=(i&&En(t,i[1]??"")[Number(i[2])])??Er(t,o??"");return c?{line:c,column:Ar}:void 0}function En(n,t){const[r="",s]=t.split(".");let a=Er(n,r),i=0;if(a&&s!==void 0){const l=n.slice(a),d=l.findIndex(u=>Zn.test(u.trimStart())&&u.trimStart().startsWith(`${s}:`));if(d<0||l.slice(0,d).some(u=>Zn.test(u)))return[];i=Yn(l[d]??""),a+=d+1}if(!a)return[];const o=[];let c;for(const[l,d]of n.slice(a).entries()){const u=Yn(d),h=d.trimStart();if(h===""||h.startsWith("#"))continue;const p=/^-(?:\s|$)/.test(h);if(u<i||u===i&&!p)break;p&&(c===void 0||u===c)&&(c=u,o.push(a+l+1))}return o}function Er(n,t){return n.findIndex(r=>Zn.exec(r)?.[1]===t)+1}function Yn(n){return n.length-n.trimStart().length}const ze=ir(void 0);hs(()=>{Jn.value===null&&(ze.value=void 0)});function ri(n){if(!n.startsWith(`model: |
`))return{model:n};const t=n.split(`
`),r=t.findIndex((l,d)=>d>0&&/^\S/.test(l)),s=t.slice(1,r).map(l=>l.slice(2)),a=t.slice(r),i=En(a,"setup.warrants").map(l=>(a[l-1]??"").trim().slice(2)),o=[...new Set(i)].map((l,d)=>{const u=d+1,h=JSON.parse(l),p=h.expires_at?{expiresAt:h.expires_at}:{};return{number:u,warrant:{...ot(h.warrant,u),...p}}}),c=En(a,"tests").length;return{model:`${s.join(`
`)}
`,rest:{warrants:o,tests:a.join(`
`),testCount:c}}}function si(n,t){if(t.trim()==="")return n;if(!/^\s*(?:#.*\n\s*)*(?:[[{]|-\s|tuples:)/.test(t))return`schema: |2
${kn(n)}
relationships: |2
${kn(t)}
`;const s=/^tuples:/m.test(t)?t:`tuples:
${kn(ai(t))}`;return`model: |2
${kn(n)}
${s}
`}function ai(n){try{const t=JSON.parse(n);return JSON.stringify(t.tuples??t)}catch{return n}}function kn(n){return n.split(`
`).map(t=>t.trim()?`  ${t}`:"").join(`
`)}const Ln="text/plain",ii=100;async function fn(n,t){const r=await je("v2/model",{accept:Ln,query:{asOf:t},signal:n});return{text:await r.text(),token:r.headers.get("Service-Token")??""}}async function oi(n){return(await je("v2/model/convert",{text:n,accept:Ln})).text()}const ci=/299 - "([^"]*)"/g;async function li(n,t){const s=await je("v2/model/convert",{text:n,accept:Ln,query:t?{leaveOut:"true"}:{}}),a=[...(s.headers.get("Warning")??"").matchAll(ci)].map(([,c=""])=>c),{model:i,rest:o}=ri(await s.text());return{text:i,notes:a,rest:o}}async function di(n,t){const r=ui(await L("v2/model/convert",{text:n,accept:"application/json",signal:t})),[s,a,i,o]=await Promise.all([fn(t),L("v2/model/plan",{text:n,signal:t}),hi(r,t),je("v2/model/convert",{body:r,accept:Ln,signal:t}).then(c=>c.text())]);return{newest:s,plan:a,access:i,lines:Or(s.text,o)}}function ui({objectTypes:n,policies:t}){const r=(s,a)=>+(s>a)-+(s<a);return{objectTypes:n.toSorted((s,a)=>r(s.type,a.type)),policies:t.toSorted((s,a)=>r(s.name,a.name))}}async function hi(n,t){try{const r={proposal:{...n,replace:!0},limit:ii};return await L("v2/difference",{body:r,signal:t})}catch(r){if(r instanceof j&&r.status===400)return r;throw r}}async function pi(n,t,r){await B("v2/model",{method:"PUT",text:n,query:r?{keepExisting:"true"}:{},headers:{"If-Match":`"${t}"`}})}function Ir({warrants:n={}}){return[...n.created??[],...n.deleted??[],...n.expired??[]]}function fi({objects:n={}}){return[...n.created??[],...n.updated??[],...n.deleted??[]]}function mi(n,t,r,s){const a={actions:[],kept:[]};for(const o of Ir(n))vi(o,t,r,s,a);const i=new Set(a.actions.flatMap(({verb:o,what:c})=>o==="delete"&&"warrant"in c?[de(c.warrant)]:[]));for(const o of n.objects?.created??[])bi(o,r,i,a);for(const o of n.objects?.updated??[])At(o,!1,t,r,a);for(const o of n.objects?.deleted??[])At(o,!0,t,r,a);return a}function vi(n,t,r,s,{actions:a,kept:i}){const o=de(n);if(a.some(({what:u})=>"warrant"in u&&de(u.warrant)===o))return;const c=t.warrants.get(o),l=r.warrants.get(o),d=c?.expiresAt!==void 0&&Date.parse(c.expiresAt)<=s;if(c&&d)i.push({name:o,reason:Q.wouldHaveExpired});else if(c&&!l)a.push({verb:"create",what:{warrant:Fn(c)}});else if(c&&l&&!Et(c,l))a.push({verb:"change",what:{warrant:Fn(c)},note:Q.toOldLimits});else if(!c&&l){const u=Et(n,l)?void 0:Q.limitsChanged;a.push({verb:"delete",what:{warrant:Fn(l)},note:u})}else i.push({name:o,reason:c?Q.existsAgain:Q.isDeleted})}function bi(n,t,r,{actions:s,kept:a}){const i=I(n),o=t.objects.get(i);o?Rr(n,o)?t.naming.get(i)?.some(c=>!r.has(c))?a.push({name:i,reason:Q.isNamed}):s.push({verb:"delete",what:{object:o}}):a.push({name:i,reason:Q.wasChanged}):a.push({name:i,reason:Q.isDeleted})}function At(n,t,r,s,{actions:a,kept:i}){const o=I(n),c=r.objects.get(o),l=s.objects.get(o);c&&(!l&&!t?i.push({name:o,reason:Q.isGone}):l?Rr(c,l)?i.push({name:o,reason:Q.isAsItWas}):a.push({verb:"change",what:{object:c},note:Q.toOldMeta}):a.push({verb:"create",what:{object:c}}))}function Fn(n){const{startsAt:t,expiresAt:r}=n;return{...Ke(n),...t?{startsAt:t}:{},...r?{expiresAt:r}:{}}}function Et(n,t){return n.startsAt===t.startsAt&&n.expiresAt===t.expiresAt}function Rr(n,t){return JSON.stringify(n.meta??{})===JSON.stringify(t.meta??{})}function qr(n,t){const r=o=>n.flatMap(c=>c.verb===o&&"warrant"in c.what?[c.what.warrant]:[]),s=o=>n.flatMap(c=>c.verb===o&&"object"in c.what?[c.what.object]:[]),a=new Set(r("delete").map(de)),i=s("delete").filter(o=>t.get(I(o))?.every(c=>a.has(c))??!0);return{delete:{warrants:r("delete").map(Ke),objects:i.map(({objectType:o,objectId:c})=>({objectType:o,objectId:c}))},create:{warrants:[...r("create"),...r("change")],objects:[...s("create"),...s("change")].map(({objectType:o,objectId:c,meta:l})=>({objectType:o,objectId:c,meta:l??{}}))}}}const gi=8388608,Mr=200,It=8,yi=1e3,wi=["access_granted","access_revoked"];async function ki(n,t){const r=or(n),s=[["v2/resource-events",void 0],...wi.map(c=>["v2/access-events",c])],a=yn(n);return(await Promise.all(s.map(async([c,l])=>{for(const d of[r,r-1]){const h=await L(c??"",{query:{type:l,until:d,limit:100},signal:t}),p=h.results.find(m=>yn(m)<a);if(p||!h.nextCursor)return p}}))).filter(c=>c!==void 0).sort((c,l)=>yn(l)-yn(c))[0]?.token}async function ji(n,t,r){const s=new AbortController,a=await je("v2/watch",{query:{since:n},accept:"application/x-ndjson",signal:AbortSignal.any([r,s.signal])});try{return await Ti(a,t)}finally{s.abort()}}async function Ti(n,t){const r=n.body?.pipeThrough(new TextDecoderStream).getReader();let s="";for(let a=await r?.read();a&&!a.done;a=await r?.read()){s+=a.value;const i=s.split(`
`);s=i.pop()??"";for(const o of i){const c=JSON.parse(o);if(c.event==="revision"&&c.token===t)return c}if(s.length>gi)throw dt()}throw new j(410,"gone",S.notKept)}function dt(){return new j(400,"too_large",S.tooLarge(Je))}async function Rt(n,t,r){const s=r??new AbortController().signal,a=await ji(n,t,s),[i,o]=[Ir(a),fi(a)];if(i.length+o.length>Je||o.length>Mr)throw dt();const c=(await je("v2/objects",{query:{limit:1},signal:s})).headers.get("Warrant-Token")??"",l={warrants:await qt(i,n,s),objects:await _t(o,n,s)},d={warrants:await qt(i,c,s),objects:await _t(o,c,s)},u=new Map;await ut(a.objects?.created??[],async p=>{const{value:m}=await An(p,s);u.set(I(p),m.warrants.map(de))});const h={...d,naming:u};return{value:{...mi(a,l,h,Date.now()),naming:u},token:c}}async function qt(n,t,r){const s=Mt(n,({objectType:l,objectId:d})=>({objectType:l,objectId:d})),a=Mt(n,({subject:l})=>({subjectType:l.objectType,subjectId:l.objectId})),i=s.length<=a.length?s:a;if(i.length>Mr)throw dt();const o=new Set(n.map(de)),c=new Map;return await ut(i,async l=>{let d;do{const u={...l,limit:yi,nextCursor:d,asOf:t},h=await L("v2/warrants",{query:u,signal:r});for(const p of h.results)o.has(de(p))&&c.set(de(p),p);d=h.nextCursor}while(d)}),c}function Mt(n,t){return[...new Map(n.map(r=>[JSON.stringify(t(r)),t(r)])).values()]}async function _t(n,t,r){const s=new Map;return await ut(n,async a=>{try{const{objectType:i,objectId:o,meta:c}=await L($n(a),{query:{asOf:t},signal:r});s.set(I(a),{objectType:i,objectId:o,...c?{meta:c}:{}})}catch(i){if(!(i instanceof j)||i.status!==404)throw i}}),s}async function ut(n,t){for(let r=0;r<n.length;r+=It)await Promise.all(n.slice(r,r+It).map(t))}function $t(n){return!Cn(n)&&n.kind!=="object"}async function Ci(n,t,r){const[s,a]=await Promise.all([t,void 0].map(d=>L("v2/model",{query:{asOf:d},accept:"application/json",signal:r})));if(!s||!a)throw new Error("two models were requested");const i=d=>new Set(n.flatMap(u=>!Cn(u)&&u.kind===d?[u.resourceId]:[])),o=i("object-type"),c=i("named-policy"),l={objectTypes:[...a.objectTypes.filter(d=>!o.has(d.type)),...s.objectTypes.filter(d=>o.has(d.type))],policies:[...a.policies.filter(d=>!c.has(d.name)),...s.policies.filter(d=>c.has(d.name))]};return(await je("v2/model/convert",{body:l,accept:"text/plain",signal:r})).text()}const xi={created:"plus",updated:"model",deleted:"no",expired:"history"};function Nt({change:{verb:n,what:t}}){return e("li",{class:n,children:[e("span",{class:"sign",children:[e(Xe,{name:xi[n]}),xe[n]]}),"warrant"in t?e("span",{children:S.warrant(e(_n,{warrant:t.warrant}))}):"object"in t?e("span",{children:S.object(e(Ue,{object:t.object}))}):e("span",{children:[t.kind," ",e("span",{class:"name",children:t.name})]})]})}const jn=3;function _r({changes:n,count:t=n.length}){return e(w,{children:[e("ul",{class:"events",children:n.slice(0,jn).map((r,s)=>e(Nt,{change:r},s))}),t>jn&&e("details",{children:[e("summary",{children:S.more(t-jn)}),e("ul",{class:"events",children:n.slice(jn).map((r,s)=>e(Nt,{change:r},s))}),t>n.length&&e("p",{class:"hint",children:S.notListed(t-n.length)})]})]})}const Si={"+":S.added,"-":S.removed," ":""};function $r({lines:n}){return e("div",{class:"changed-lines",tabIndex:0,role:"region","aria-label":S.changedLines,children:n.map(({sign:t,text:r},s)=>e("div",{class:t==="+"?"added":t==="-"?"removed":void 0,children:[e("span",{"aria-hidden":"true",children:[t," "]}),e("span",{class:"sr",children:Si[t]}),r]},s))})}const Oi=50;function Nr({before:n,token:t}){const[r,s]=f([]),[a,i]=f(),o=$(c=>L("v2/difference",{query:{from:n,to:t,limit:Oi,nextCursor:a},signal:c}),[n,t,a]);return re(()=>{const c=o.value;c&&s(l=>[...l,...c.results])},[o.value]),o.fault?e(R,{fault:o.fault,retry:o.reload}):o.value?o.value.results.length===0&&r.length===0?e("p",{class:"hint",children:xn.nobody}):e(w,{children:[e(ps,{rows:r}),o.value.nextCursor&&e("button",{type:"button",class:"quiet",disabled:o.isLoading,onClick:()=>i(o.value?.nextCursor),children:C.showMore})]}):e(P,{what:xn.comparing})}const Ai=/(^|[^/])\/\/(?!\/)/m,Un=5;function Lr({text:n,base:t,onSaved:r,onClose:s}){const a=$(u=>di(n,u),[n]),[i,o]=f(!1),c=a.value,l=c!==void 0&&c.plan.stranded.length>0&&!i;async function d(){if(c){try{await pi(n,c.newest.token,i)}catch(u){if(!(u instanceof j)||u.status!==412)throw u;a.reload();const h=be.changed;throw new j(412,u.code,h)}r()}}return e(G,{title:be.title,action:C.save,isReady:c!==void 0&&!a.isLoading&&!l&&!Pr(c),onConfirm:d,onClose:s,children:[a.fault&&e(R,{fault:a.fault,retry:a.reload}),!c&&!a.fault&&e(P,{what:be.finding}),c&&e(w,{children:[c.newest.text!==t.text&&e(Oe,{children:e("p",{children:be.otherChange})}),e(Ei,{review:c}),Ai.test(n)&&e("p",{class:"hint",children:be.comments}),c.plan.stranded.length>0&&e(Ri,{review:c,isKept:i,onKeep:o}),e("section",{class:"effect-of-model",children:[e("h3",{children:v.access}),c.access instanceof j?e("p",{children:be.accessNotKnown(c.access.message)}):e(fs,{rows:c.access.results,hasMore:c.access.nextCursor!==void 0})]})]})]})}function Pr({plan:n}){return[n.objectTypes,n.policies].every(t=>Object.values(t).every(r=>r.length===0))}function Ei({review:n}){if(Pr(n))return e("p",{children:be.nothing});const{plan:t,lines:r}=n;return e(w,{children:[e("ul",{class:"changes",children:[e(Lt,{kind:v.kindOfType,changes:t.objectTypes}),e(Lt,{kind:v.kindOfPolicy,changes:t.policies})]}),r?e($r,{lines:r}):e("p",{class:"hint",children:S.tooLong})]})}const Ii=[["created","create"],["changed","change"],["deleted","delete"]];function Lt({kind:n,changes:t}){return e(w,{children:Ii.map(([r,s])=>t[r].map(a=>e("li",{children:[e("span",{class:`verb ${s}`,children:xe[s]})," ",e("span",{children:[n," ",e("span",{class:"name",children:a})]})]},r+a)))})}function Ri({review:n,isKept:t,onKeep:r}){const{stranded:s,more:a}=n.plan;return e("div",{class:"notice fault",role:"alert",children:[e("p",{children:e("strong",{children:be.stranded(s.length,a)})}),e("ul",{children:[s.slice(0,Un).map(i=>e("li",{children:e("code",{children:Ie(i)})},Ie(i))),s.length>Un&&e("li",{children:be.more(s.length-Un,a)})]}),e("p",{children:be.strandedAdvice}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:t,onChange:i=>r(i.currentTarget.checked)}),be.keep]})]})}const qi=Q.changed;function Mi({revision:n,findBefore:t,onDone:r,onClose:s}){const{token:a}=n,i=$(async b=>{const y=await t(b);return{before:y,seen:await Rt(y,a,b)}},[a]),[o,c]=f(new Set),l=i.value,d=l?.seen.value.actions??[],u=d.filter(b=>!o.has(rn(b))),h=l?.seen.value.naming??new Map;async function p(){if(!l)return;const b=qr(u,h);await Nn(l.seen,()=>Rt(l.before,a),Ni(b),qi),r(Q.done(u.length))}function m(b){const y=new Set(o);y.delete(b)||y.add(b),c(y)}return e(G,{title:Q.title,action:C.revert,isReady:u.length>0,onConfirm:p,onClose:s,children:[i.fault&&e(R,{fault:i.fault}),!l&&!i.fault&&e(P,{what:Q.comparing}),l&&d.length===0&&e("p",{children:Q.nothing}),d.length>0&&e("fieldset",{class:"choices reversal",children:[e("legend",{children:Q.advice}),d.map(b=>e("label",{children:[e("input",{type:"checkbox",checked:!o.has(rn(b)),onChange:()=>m(rn(b))}),e("span",{class:`verb ${b.verb}`,children:xe[b.verb]}),e("span",{children:[e("code",{children:rn(b)}),b.note&&e("span",{class:"hint",children:[" ",b.note]})]})]},rn(b)))]}),l&&e($i,{kept:l.seen.value.kept}),u.length>0&&e(_i,{actions:u})]})}function rn({what:n}){return"warrant"in n?de(n.warrant):I(n.object)}function _i({actions:n}){const{delete:t,create:r}=qr(n,new Map);return t.warrants.length+r.warrants.length===0?null:e(Ye,{proposal:{create:r.warrants,delete:t.warrants}})}function $i({kept:n}){return n.length===0?null:e("details",{children:[e("summary",{children:Q.kept(n.length)}),e("ul",{class:"kept",children:n.map(({name:t,reason:r})=>e("li",{children:[e("code",{children:t})," ",r]},t))})]})}function Ni(n){const t=s=>Object.fromEntries(Object.entries(s).filter(([,a])=>a.length>0)),r={delete:t(n.delete),create:t(n.create)};return Object.fromEntries(Object.entries(r).filter(([,s])=>Object.keys(s).length>0))}function Li({revision:n,findBefore:t,onDone:r,onClose:s}){const a=$(async i=>({text:await Ci(n.events,await t(i),i),base:await fn(i)}),[n.token]);return a.value?e(Lr,{...a.value,onSaved:()=>{r(Q.sameModel),rt()},onClose:s}):e(G,{title:Q.modelTitle,action:C.save,isReady:!1,onConfirm:Pi,onClose:s,children:a.fault?e(R,{fault:a.fault}):e(P,{what:H.reading})})}function Pi(){return Promise.reject(new j(400,"invalid",Q.notRead))}function Wi({revision:n,isComplete:t,onDone:r}){const{token:s,createdAt:a,actor:i,events:o}=n,c=U.value.parameters.moment===s,[l,d]=f(),u=o.some($t),h=o.some(T=>!$t(T)),p=[...o.filter(Cn),...o.filter(T=>!Cn(T))],m=T=>Di(n,t,T),b={revision:n,findBefore:m,onDone:r,onClose:()=>d(void 0)},y=He(a);return e("li",{"aria-current":c||s===ce.value?"time":void 0,children:[e("div",{class:"revision-head",children:[e(X,{time:a,isExact:!0}),e("span",{class:"actor",children:i??v.unknown}),e("a",{href:_("data",{at:s}),children:S.asOf(y)}),e("a",{href:_("history",{moment:s,until:a}),children:S.link(y)})]}),e(_r,{changes:p.map(ms)}),n.isPartial&&e("p",{class:"hint",children:S.isPartial(o.length)}),!K.value&&e(w,{children:[e(Pt,{title:S.whoGained,isFirstOpen:c,children:e(Fi,{find:m,token:s})}),u&&e(Pt,{title:S.whatChanged,isFirstOpen:c,children:e(Ui,{find:m,token:s})}),e("div",{class:"actions small",children:[h&&e(F,{needs:{scope:"write"},class:"quiet",onClick:()=>d("data"),children:S.revert(y)}),u&&e(F,{needs:{scope:"model",ofAllTypes:!0},class:"quiet",onClick:()=>d("model"),children:S.revertModel(y)})]})]}),l==="data"&&e(Mi,{...b}),l==="model"&&e(Li,{...b})]})}async function Di(n,t,r){const[s]=n.events,a=t&&!n.isPartial?n.before:s&&await ki(s,r);if(a)return a;throw new j(410,"gone",S.isFirst)}function Pt({title:n,isFirstOpen:t,children:r}){const[s,a]=f(t);return e("details",{open:s,onToggle:i=>a(i.currentTarget.open),children:[e("summary",{children:n}),s&&r]})}function Fi({find:n,token:t}){const r=$(n,[t]);return r.fault?e("p",{class:"hint",children:[r.fault.message,"."]}):r.value?e(Nr,{before:r.value,token:t}):e(P,{what:xn.comparing})}function Ui({find:n,token:t}){const r=$(async a=>{const[i,o]=await Promise.all([fn(a,await n(a)),fn(a,t)]);return{lines:Or(i.text,o.text)}},[t]);if(r.fault)return e(R,{fault:r.fault});if(!r.value)return e(P,{what:S.comparingModels});const{lines:s}=r.value;return s?e($r,{lines:s}):e("p",{class:"hint",children:S.tooLong})}const Bn=25,Bi=500;function Gi(){const{type:n=K.value?.[0],object:t="",actor:r="",until:s}=U.value.parameters,[a,i]=f({message:"",count:0}),o=Re(t),c={...o?{object:o}:{type:n},...s?{until:zi(s)}:{}};return e("div",{class:"history",children:[e("div",{class:"heading",children:[e("h1",{children:x.history}),e(Sr,{})]}),e("p",{class:"lead",children:S.purpose}),e(Hi,{type:n,object:t,actor:r,until:s}),a.message&&e(Oe,{children:e("p",{children:a.message})}),e(Ki,{filter:c,actor:r,onDone:l=>i(({count:d})=>({message:l,count:d+1}))},JSON.stringify([c,r,a.count]))]})}function zi(n){return n.endsWith("Z")?or({createdAt:n}):Date.parse(n)*1e3+999999}function Hi({type:n,object:t,actor:r,until:s}){const[a,i]=f(t);re(()=>i(t),[t]);const o=K.value??Ze(),c=!!(n&&!K.value||t||r||s),l=(d,u)=>ye({[d]:u.trim()||void 0,moment:void 0});return e(bn,{count:[K.value?"":n,t,r,s].filter(Boolean).length,onSubmit:()=>l("object",a),children:[e("div",{class:"field",children:[e("label",{for:"type",children:v.type}),e("select",{id:"type",value:t?"":n??"",disabled:t!=="",onChange:d=>l("type",d.currentTarget.value),children:[!K.value&&e("option",{value:"",children:v.all}),o.map(d=>e("option",{value:d,children:d},d))]})]}),!K.value&&e(me,{label:v.object,placeholder:v.any,value:a,complete:Qe,onInput:d=>{i(d),d===""&&l("object","")},onChoose:d=>l("object",d)}),e("div",{class:"field",children:[e("label",{for:"actor",children:S.madeBy}),e("input",{id:"actor",type:"search",class:"code",placeholder:S.anybody,value:r,onChange:d=>l("actor",d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"until",children:S.until}),e("input",{id:"until",type:"datetime-local",step:"1",value:s?Ji(s):"",onChange:d=>l("until",d.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:C.filter}),c&&e("a",{class:"quiet-link",href:_("history"),children:S.allChanges})]})}function Ji(n){const t=new Date(n);return Number.isNaN(t.getTime())?"":new Date(t.getTime()-t.getTimezoneOffset()*6e4).toISOString().slice(0,19)}function Ki({filter:n,actor:t,onDone:r}){const s=ee(cr(n)),[a,i]=f(),[o,c]=f(),[l,d]=f(1);async function u(p){let m=0;for(;;){const{revisions:b,hasMore:y}=await s.current.readMore(Bn,p);m+=Bn;const T=b.filter(O=>!t||(O.actor??"unknown").includes(t));if(!y||T.length>=l*Bn||m>=Bi||!t)return{revisions:T,hasMore:y,searchedTo:b.at(-1)?.createdAt}}}re(()=>{const p=new AbortController;return u(p.signal).then(m=>!p.signal.aborted&&i(m),m=>{if(!p.signal.aborted){if(!(m instanceof j))throw m;c(m)}}),()=>p.abort()},[l]);const h=!!(n.type||n.object||n.until||t);return e(w,{children:[o&&e(R,{fault:o}),!a&&!o&&e(P,{what:S.reading}),a?.revisions.length===0&&e(Z,{title:h?S.noChange:S.noChanges,children:e("p",{children:h?S.noChangeAdvice:S.noChangesAdvice})}),e("ol",{class:"timeline",children:a?.revisions.map(p=>e(Wi,{revision:p,isComplete:!n.type&&!n.object,onDone:r},p.token))}),a?.hasMore&&e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>d(p=>p+1),children:S.earlier}),t&&a.searchedTo&&e("span",{class:"hint",children:S.searched(e(X,{time:a.searchedTo,isExact:!0}))})]})]})}const ht=300,Xn=50,Qi=[["objectTypes",v.kindOfType],["policies",v.kindOfPolicy]],Vi=["created","updated","deleted","expired"];function Zi(n,t){const{id:r,data:s}=n,a=String(s.time),i=String(s.token);if(n.name==="revision"){const{changes:d,count:u}=Yi(s),h=typeof s.actor=="string"?s.actor:void 0;return{kind:"revision",id:r,time:a,token:i,actor:h,before:t,changes:d,count:u}}if(n.name!=="access")return;if(s.resync!==void 0)return{kind:"gap",id:r,time:a,words:q.tooMuch};const o=s.gained??[],c=s.lost??[],l=[...c.slice(0,Xn).map(Wt(!1)),...o.slice(0,Xn).map(Wt(!0))];return{kind:"access",id:r,time:a,at:r===i?i:a,rows:l,count:o.length+c.length}}function Wt(n){return t=>({...t,isGained:n})}function Yi(n){const t=[];let r=0;const s=(a,i)=>{for(const o of Vi){const c=a?.[o]??[];r+=c.length;for(const l of c.slice(0,Xn-t.length))t.push({verb:o,...i(l)})}};s(n.warrants,a=>({what:{warrant:a}}));for(const[a,i]of Qi)s(n[a],o=>({what:{kind:i,name:String(o.type??o.name)}}));return s(n.objects,a=>({what:{object:a}})),{changes:t,count:r}}function Xi(n,t){return[...t.toReversed(),...n].slice(0,ht)}function Dt(n){if(n.kind==="gap")return n.words;if(n.kind==="revision"){const[r]=n.changes;return S.summary(r?vs(r):q.none,n.count-1,n.actor)}const[t]=n.rows;return t?q.accessOf(mn(t.subject),t.isGained,t.relation,I(t),n.count-1):q.none}function eo(n){const t=n.at(-1);return t?n.length===1?Dt(t):q.announced(n.length,Dt(t)):""}const Gn=2;function no({entry:n}){return n.kind==="gap"?e("li",{children:[e("div",{class:"revision-head",children:e("time",{dateTime:n.time,children:He(n.time)})}),e("p",{children:q.seePast(n.words,_("history"))})]}):e("li",{children:[e("div",{class:"revision-head",children:[e("time",{dateTime:n.time,children:He(n.time)}),n.kind==="revision"&&e("span",{class:"actor",children:n.actor??v.unknown}),e("a",{href:_("data",{at:n.kind==="revision"?n.token:n.at}),children:S.asOf(He(n.time))})]}),n.kind==="revision"?e(to,{entry:n}):e(ro,{entry:n})]})}function to({entry:{before:n,token:t,changes:r,count:s}}){const[a,i]=f(!1);return e(w,{children:[e(_r,{changes:r,count:s}),n&&e("details",{onToggle:o=>i(o.currentTarget.open),children:[e("summary",{children:S.whoGained}),a&&e(Nr,{before:n,token:t})]})]})}function ro({entry:{rows:n,count:t,at:r}}){return e(w,{children:[e("ul",{class:"access",children:n.map((s,a)=>e(so,{row:s,at:r},a))}),t>n.length&&e("p",{class:"hint",children:S.notListed(t-n.length)})]})}function so({row:n,at:t}){const r={subject:mn(n.subject),relation:n.relation,object:I(n)},s=n.objectId==="*"||n.subject.objectId==="*";return e("li",{class:n.isGained?"gained":"lost",children:[e("span",{class:"sign",children:[e(Xe,{name:n.isGained?"plus":"no"}),n.isGained?xe.gained:xe.lost]}),e("div",{children:[xn.row(e(rr,{subject:n.subject}),ln(n.relation),e(Ue,{object:n}),n.conditional??!1)," ",!s&&e("a",{href:_("why",{...r,at:t}),children:le.why(Object.values(r).join(" "))}),n.cause&&e(ao,{cause:n.cause})]})]})}function ao({cause:{created:n,deleted:t,objectTypes:r}}){const s=[...n.map(a=>({row:a,verb:q.wasCreated})),...t.map(a=>({row:a,verb:q.wasDeleted}))];return e("div",{class:"hint",children:[s.slice(0,Gn).map(({row:a,verb:i},o)=>e("div",{children:q.because(e(io,{row:a}),i)},o)),r.length>0&&e("div",{children:q.typesChanged(r)}),s.length>Gn&&e("div",{children:q.moreCauses(s.length-Gn)})]})}function io({row:n}){return"relation"in n?e(_n,{warrant:n}):e(Ue,{object:n})}const oo=200,co=5e3,Wr={path:"v2/watch",fields:{objectType:v.objectTypes,relation:v.relations,subjectType:v.subjectTypes}},Dr={path:"v2/watch/access",fields:{of:v.access}};function lo(){const{parameters:n}=U.value,t=n.show==="access",r=t?ho(n):uo(n);return e("div",{class:"live",children:[e("div",{class:"heading",children:[e("h1",{children:x.live}),e(Sr,{})]}),ce.value?e(Z,{title:q.noPast,children:e("p",{children:q.noPastAdvice})}):e(w,{children:[e(po,{isOfAccess:t},String(t)),r?e(fo,{isOfAccess:t,filter:r},JSON.stringify([t,r])):e(Z,{title:q.whichAccess,children:e("p",{children:q.whichAccessAdvice})})]})]})}function uo({objectType:n,relation:t,subjectType:r}){const s=Tn(n);return{objectType:s.length>0?s:K.value??[],relation:Tn(t),subjectType:Tn(r)}}function ho({of:n,subject:t,object:r}){const s=Tn(n);return s.length>0?{of:s.join(","),subject:t,object:r}:void 0}function Tn(n=""){return n.split(/[\s,]+/).filter(Boolean)}function po({isOfAccess:n}){const{parameters:t}=U.value,[r,s]=f(t),a=n?Dr.fields:Wr.fields,i=o=>c=>s({...r,[o]:c});return e(bn,{count:Object.keys(a).filter(o=>t[o]).length,onSubmit:()=>ye({...r,show:t.show}),children:[e("div",{class:"field",children:[e("label",{for:"live-show",children:q.show}),e("select",{id:"live-show",value:n?"access":"changes",onChange:o=>ye({show:o.currentTarget.value==="access"?"access":void 0}),children:[e("option",{value:"changes",children:q.written}),e("option",{value:"access",children:q.access})]})]}),Object.entries(a).map(([o,c])=>e("div",{class:"field",children:[e("label",{for:`live-${o}`,children:c}),e("input",{id:`live-${o}`,type:"text",spellcheck:!1,required:n,placeholder:n?ve.access:v.all,value:r[o]??"",onInput:l=>i(o)(l.currentTarget.value)})]},o)),n&&e(w,{children:[e(me,{label:v.subject,value:r.subject??"",placeholder:v.all,complete:nr,onInput:i("subject")}),e(me,{label:v.object,value:r.object??"",placeholder:v.all,complete:Qe,onInput:i("object")})]}),e("button",{type:"submit",class:"quiet",children:C.filter})]})}function fo({isOfAccess:n,filter:t}){const{state:r,entries:s,isPaused:a,setPaused:i,retry:o,clear:c}=vo(n?Dr.path:Wr.path,t),l=bo(s);return e(w,{children:[e("div",{class:"actions",children:[e("div",{role:"status",children:e(mo,{state:r,isPaused:a})}),e("button",{type:"button",class:"quiet","aria-pressed":a,onClick:()=>i(!a),children:a?C.continue:C.pause}),e("button",{type:"button",class:"quiet",disabled:s.length===0,onClick:c,children:C.clear}),r.is==="waiting"&&!a&&e("button",{type:"button",class:"quiet",onClick:o,children:q.connectNow})]}),r.is==="stopped"&&e(R,{fault:r.fault,retry:o}),e("p",{class:"sr",role:"status",children:l}),s.length===0&&r.is==="connected"&&!a&&e(Z,{title:q.nothing,children:e("p",{children:q.nothingAdvice(ht)})}),e("ol",{class:"timeline","aria-label":n?q.accessTitle:S.changes,children:s.map(d=>e(no,{entry:d},d.id))})]})}function mo({state:n,isPaused:t}){return t?e(w,{children:[e(oe,{tone:"unknown",children:q.paused})," ",e("span",{class:"hint",children:q.pausedAdvice})]}):n.is==="connected"?e(oe,{tone:"yes",children:q.connected}):n.is==="connecting"?e(oe,{tone:"unknown",children:q.connecting}):e(w,{children:[e(oe,{tone:"no",children:q.notConnected})," ",n.is==="waiting"&&e("span",{class:"hint",children:q.retry(n.fault?.message??q.wasCut,n.seconds)})]})}function vo(n,t){const[r,s]=f({is:"connecting"}),[a,i]=f([]),[o,c]=f(!1),l=ee(null);return re(()=>{const d=Object.values(t).flat().filter(Boolean).length===0,u=[];let h,p,m=0;const b=()=>{h=void 0;const ne=u.splice(0);i(ue=>Xi(ue,ne))},y=ne=>{u.push(ne),u.length>ht&&u.shift(),h??=setTimeout(b,oo)},T=ne=>{const ue=Zi(ne,p);d&&(p=String(ne.data.token)),ue&&y(ue)},O=()=>{m+=1,p=void 0,y({kind:"gap",id:`gap-${m}`,time:new Date().toISOString(),words:q.missing})};return l.current=bs(n,t,{onState:s,onEvent:T,onGap:O}),()=>clearTimeout(h)},[]),re(()=>(o||l.current?.start(),()=>l.current?.stop()),[o]),{state:r,entries:a,isPaused:o,setPaused:c,retry:()=>l.current?.start(),clear:()=>i([])}}function bo(n){const[t,r]=f(""),s=ee(void 0),a=ee(0);return re(()=>{const i=n.findIndex(l=>l.id===s.current),o=i<0?n:n.slice(0,i);if(o.length===0)return;const c=setTimeout(()=>{s.current=n[0]?.id,a.current=Date.now()+co,r(eo(o.toReversed()))},Math.max(0,a.current-Date.now()));return()=>clearTimeout(c)},[n]),t}const Ft=1048576;function go({onImported:n,onClose:t}){const[r,s]=f(""),[a,i]=f(""),[o,c]=f(!1);async function l(u,h){u&&h((await u.text()).slice(0,Ft+1))}async function d(){if(r.trim()==="")throw new j(400,"invalid",z.nothing);const u=si(r,a);if(u.length>Ft)throw new j(400,"invalid",z.tooLong);n(await li(u,o))}return e(G,{title:z.title,action:z.convert,onConfirm:d,onClose:t,children:[e("div",{class:"field",children:[e("label",{for:"model-file",children:Y.file}),e("input",{id:"model-file",type:"file",onChange:u=>{l(u.currentTarget.files?.[0],s)}})]}),e("div",{class:"field",children:[e("label",{for:"foreign-model",children:z.paste}),e("textarea",{id:"foreign-model",class:"code",rows:12,spellcheck:!1,"aria-describedby":"foreign-model-hint",value:r,onInput:u=>s(u.currentTarget.value)}),e("span",{class:"hint",id:"foreign-model-hint",children:z.advice})]}),e("details",{children:[e("summary",{children:z.otherFile}),e("div",{class:"field",children:[e("label",{for:"relationships-file",children:z.relationships}),e("input",{id:"relationships-file",type:"file",onChange:u=>{l(u.currentTarget.files?.[0],i)}})]}),e("div",{class:"field",children:[e("label",{for:"foreign-relationships",children:z.pasteRelationships}),e("textarea",{id:"foreign-relationships",class:"code",rows:6,spellcheck:!1,"aria-describedby":"foreign-relationships-hint",value:a,onInput:u=>i(u.currentTarget.value)}),e("span",{class:"hint",id:"foreign-relationships-hint",children:z.relationshipsAdvice})]})]}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:o,onChange:u=>c(u.currentTarget.checked)}),z.leaveOut]})]})}const Ut=1e3,zn=100;function yo({rest:n,isModelFirst:t}){const[r,s]=f(!1),[a,i]=f(""),{warrants:o,testCount:c}=n;function l(){De.value=n.tests,E("tests")}return e(Oe,{children:[e("p",{children:z.rest(o.length,c,t)}),a&&e("p",{children:a}),o.length>0&&e("details",{children:[e("summary",{children:z.showWarrants}),e(Fr,{warrants:o})]}),e("div",{class:"actions",children:[o.length>0&&!a&&e(F,{needs:{scope:"write"},class:"primary",disabled:t,onClick:()=>s(!0),children:z.importWarrants(o.length)}),c>0&&e("button",{type:"button",class:"quiet",onClick:l,children:De.value?z.replaceTests:z.openTests}),e("button",{type:"button",class:"quiet",onClick:()=>ze.value=void 0,children:a?z.isDone:z.discard})]}),r&&e(wo,{warrants:o,onDone:i,onClose:()=>s(!1)})]})}function wo({warrants:n,onDone:t,onClose:r}){const[s,a]=f(),i=n.flatMap(({warrant:c})=>c??[]);async function o(){const{created:c,unchanged:l}=await mr(n,a,()=>!1);t(Y.result(z.imported,c,l))}return e(G,{title:z.importTitle(i.length),action:C.import,onConfirm:o,onClose:r,children:[e(Fr,{warrants:n}),i.length>Ut?e("p",{class:"hint",children:z.tooMany(Ut)}):e(Ye,{proposal:{create:i,delete:[]}}),s&&e("progress",{"aria-label":z.progress,max:s.of,value:s.done})]})}function Fr({warrants:n}){return e(w,{children:[e("ul",{class:"changes",children:n.slice(0,zn).map(({number:t,warrant:r})=>e("li",{children:[e("span",{class:"verb create",children:xe.create})," ",e("code",{children:r&&de(r)})]},t))}),n.length>zn&&e("p",{class:"hint",children:le.andMore(n.length-zn)})]})}const ko=300,Bt={scope:"model",ofAllTypes:!0},jo=`version 1.0

type user

type document
    relation owner [user]

    relation viewer [user]
    inherit viewer if
        relation owner
`,et=ir(void 0);function To(){const n=$(s=>fn(s,ce.value),[ce.value]),[t,r]=f("");return e("div",{class:"model",children:[e("h1",{children:x.model}),t&&e(Oe,{children:e("p",{children:t})}),n.fault&&e(R,{fault:n.fault,retry:n.reload}),n.value===void 0&&!n.fault&&e(P,{what:H.reading}),n.value!==void 0&&e(Co,{stored:n.value,onSaved:()=>{et.value=void 0,r(H.saved),n.reload(),rt()},onChange:()=>r("")},`${ce.value??""} ${n.value.text}`)]})}function Co({stored:n,onSaved:t,onChange:r}){const s=ce.value!==void 0,a=!/^type /m.test(n.text),i=a?jo:n.text,o=s?void 0:et.peek(),c=ee(o?.base??n),[l,d]=f(o?.text??i),[u,h]=f(l),[p,m]=f(!1),[b,y]=f(!1),[T,O]=f(),[ne,ue]=f(),he=ee(void 0),nn=l!==i,gn=$(So,[]),{open:Pn}=U.value.parameters;re(()=>{Pn&&(y(Pn==="import"&&!s),ye({open:void 0}))},[Pn]),re(()=>{const W=setTimeout(()=>h(l),ko);return()=>clearTimeout(W)},[l]);const Be=$(W=>L("v2/model/validate",{text:u,signal:W}),[u]),ke=Be.value,bt=u===l&&!Be.isLoading;function gt(W){d(W),ue(void 0),r(),s||(et.value=W===i?void 0:{text:W,base:c.current})}function is(W){O(W),ze.value=W.rest,he.current?he.current.setText(W.text):gt(W.text)}function os(){O(void 0),ze.value=void 0,c.current=n,he.current?.setText(i)}async function cs(){try{he.current?.setText(await oi(l))}catch(W){if(!(W instanceof j))throw W;ue(W)}}const yt=gn.value;return e(w,{children:[e("div",{class:"actions",children:[e(F,{needs:Bt,class:"primary",disabled:!(nn||a)||!bt||!ke?.valid,onClick:()=>m(!0),children:H.review}),!s&&e("button",{type:"button",class:"quiet",disabled:!bt||!ke?.valid,onClick:cs,children:H.format}),nn&&!s&&e("button",{type:"button",class:"quiet",onClick:os,children:H.backToStored}),!s&&e("button",{type:"button",class:"quiet",onClick:()=>y(!0),children:H.importIt}),e("button",{type:"button",class:"quiet",onClick:()=>pn("model.txt","text/plain",l),children:C.download}),e(at,{needs:Bt,children:H.cannotSave})]}),ne&&e(R,{fault:ne}),T&&e(xo,{notes:T.notes}),ze.value&&!s&&e(yo,{rest:ze.value,isModelFirst:nn}),gn.fault&&e(R,{fault:gn.fault}),yt?e(yt,{first:l,settled:u,found:ke,isReadOnly:s,start:U.value.parameters.of,onText:gt,onReady:W=>he.current=W}):!gn.fault&&e(P,{what:H.loadingEditor}),e("section",{class:"faults card","aria-label":H.validation,"aria-live":"polite",children:[Be.fault&&e(R,{fault:Be.fault,retry:Be.reload}),!ke&&!Be.fault&&e(P,{what:H.validating}),ke&&e(Oo,{found:ke}),ke&&e(Gt,{title:H.errors,faults:ke.errors,onChoose:W=>he.current?.goTo(W.line,W.column)}),ke&&e(Gt,{title:H.warnings,faults:ke.warnings,onChoose:W=>he.current?.goTo(W.line,W.column)})]}),p&&e(Lr,{text:l,base:c.current,onSaved:t,onClose:()=>m(!1)}),b&&e(go,{onImported:is,onClose:()=>y(!1)})]})}function xo({notes:n}){return e(Oe,{children:[e("p",{children:H.isInEditor}),n.length>0&&e("ul",{children:n.map(t=>e("li",{children:t},t))})]})}async function So(){try{return(await lr(async()=>{const{Workbench:n}=await import("./workbench.js");return{Workbench:n}},[],import.meta.url)).Workbench}catch{throw new j(0,"unreachable",H.editorNotLoaded)}}function Oo({found:n}){return e("p",{class:"sentence-line",children:[e(oe,{tone:n.valid?"yes":"no",children:n.valid?H.valid:H.notValid})," ",n.valid&&n.warnings.length===0&&H.noFaults]})}function Gt({title:n,faults:t,onChoose:r}){return t.length===0?null:e(w,{children:[e("h2",{children:n}),e("ul",{class:"fault-list",children:t.map((s,a)=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>r(s),children:H.place(s.line,s.column)}),e("span",{children:s.message}),s.suggestion&&!s.message.includes(s.suggestion)&&e("span",{class:"hint",children:H.write(s.suggestion)}),e("code",{class:"hint",children:s.code})]},a))})]})}function on(n){return I(n)+(n.subjectRelation?`#${n.subjectRelation}`:"")}const Ao="can-";function Eo(n,t,r){return[...pt(n,t)].map(([s,a])=>{const i=new Set(a.map(d=>d.relation)),o=[...r(s),...i].filter(d=>i.has(d)),c=[...new Set(o)],l=Io(c,a);return{objectType:s,relations:c.filter(d=>l.has(d)),folded:c.filter(d=>!l.has(d)),lines:Ur(a)}})}function Io(n,t){const r=n.filter(s=>s.startsWith(Ao));return r.length===0?new Set(n):new Set([...r,...t.filter(s=>!s.isImplicit).map(s=>s.relation)])}function Ur(n){return[...pt(n,on)].map(([t,r])=>({name:t,row:r[0],cells:new Map(r.map(s=>[s.relation,s]))}))}function Ro(n,t){const r=t.trim().toLowerCase();return r?n.filter(s=>s.name.toLowerCase().includes(r)):n}function qo(n,t){const r=n.flatMap(a=>[...a.cells.values()].filter(i=>t.includes(i.relation))),s=[...pt(r,a=>a.warrant?Ie(a.warrant):"")];return s.sort(([,a],[,i])=>i.length-a.length),s.map(([,a])=>({reason:a[0].warrant,lines:Ur(a)}))}function Mo(n,t){return n.filter(r=>r.cells.has(t)).length}function pt(n,t){const r=new Map;for(const s of n){const a=r.get(t(s));a?a.push(s):r.set(t(s),[s])}return r}function _o({context:n}){const[t,r]=f(n);return dr(()=>r(n),[n]),e("details",{open:n!=="",children:[e("summary",{children:Pe.tryContext}),e("form",{class:"filters",onSubmit:s=>{s.preventDefault(),ye({context:t.trim()||void 0,next:void 0,prev:void 0})},children:[e("div",{class:"field",children:[e("label",{for:"context",children:Pe.jsonObject}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:ve.context,value:t,onInput:s=>r(s.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:Pe.tryIt})]})]})}function $o({matrix:n,filter:t,isGrouped:r,...s}){const a=ee(null),[i,o]=f(!1),c=i?[...n.relations,...n.folded]:n.relations,l=Ro(n.lines,t),d=s.areSubjects?ge.who:ge.to(n.objectType);return e("section",{class:"matrix",children:[e("div",{class:"heading",children:[!s.areSubjects&&e("h2",{children:gs(n.objectType)}),e("p",{class:"hint",children:ge.shown(l.length,n.lines.length,s.areSubjects)}),n.folded.length>0&&e("button",{type:"button",class:"linklike","aria-expanded":i,onClick:()=>o(!i),children:i?ge.fewer:ge.moreRelations(n.folded.length,n.folded.map(ln).join(", "))})]}),e(br,{label:d,children:e("table",{ref:a,children:[e("thead",{children:e("tr",{children:[e("th",{scope:"col",children:s.areSubjects?v.subject:v.object}),c.map(u=>e("th",{scope:"col","data-text":ln(u),children:[ln(u)," ",e("span",{class:"count",children:Mo(l,u)})]},u))]})}),r?qo(l,c).map(({reason:u,lines:h})=>e("tbody",{children:[e("tr",{children:e("th",{scope:"rowgroup",colSpan:c.length+1,class:"reason",children:u?e(_n,{warrant:u}):ge.nothingExcludes})}),e(zt,{lines:h,relations:c,...s})]},u?JSON.stringify(u):"")):e("tbody",{children:e(zt,{lines:l,relations:c,...s})})]})}),e(vr,{label:d,table:a})]})}function zt({lines:n,relations:t,...r}){return e(w,{children:n.map(s=>e("tr",{children:[e("th",{scope:"row",children:[e(Ue,{object:s.row}),s.row.subjectRelation&&`#${st(s.row.subjectRelation)}`]}),t.map(a=>e("td",{"data-text":Lo(s.cells.get(a)),children:e(No,{row:s.cells.get(a),name:s.name,...r})},a))]},s.name))})}function No({row:n,name:t,fixed:r,areSubjects:s,context:a}){if(!n)return e("span",{class:"sr",children:ge.no});const{policy:i,expiresAt:o}=n.warrant??{},c=e(w,{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:n.isImplicit?"ring":"dot"})}),e("span",{class:"sr",children:ge.cell(n.relation,t,n.isImplicit)}),i&&e("span",{class:"condition",children:[" ",ge.if]}),o&&e("span",{class:"condition",children:[" ",le.until(e(X,{time:o}))]})]});if(n.objectId==="*")return e("span",{class:"cell",children:c});const l=s?{subject:t,object:r}:{subject:r,object:I(n)};return e("a",{class:"cell",title:i&&ys.ifPolicy(i),href:_("why",{...l,relation:n.relation,context:a}),children:c})}function Lo(n){if(!n)return"";const{policy:t,expiresAt:r}=n.warrant??{};return ge.exported(n.isImplicit,t,r)}function Po(){return e("ul",{class:"legend",children:[["dot","ring"].map(n=>e("li",{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:n})}),n==="dot"?v.byWarrant:v.byRules]},n)),e("li",{children:ge.ifPolicy})]})}async function Br(n,t,r,s){return L("v2/query",{body:{q:n,context:Gr(t),...r},signal:s})}function Gr(n){try{return n?JSON.parse(n):void 0}catch{throw new j(400,"invalid",ws.contextNotAnObject)}}function nt(n,t,r,s,a){return vn(i=>Br(n,t,{...i,asOf:s},a),r)}const Wo=50,Ht=1e3,Jt="because",sn={scope:"write"},Kt={who:k.who,what:k.what,on:k.on,to:k.to};function Do(){const{name:n="",tab:t}=U.value.parameters,r=Re(n),[s,a]=f(),[i,o]=f("");if(!r)return e(Z,{title:k.which,children:e("p",{children:k.whichAdvice(_("data"))})});const c=_e.value?.find(h=>h.type===r.objectType),l=c!==void 0&&Object.keys(c.relations).length>0,d=r.objectType==="user",u=t&&t in Kt?t:l&&!d?"who":"what";return e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:e("span",{class:js(n),children:ks(n)})}),e("div",{class:"actions",children:[e(at,{needs:sn}),r.objectId!=="*"&&e(w,{children:[e(F,{needs:sn,class:"quiet",onClick:()=>a("meta"),children:k.editMeta}),e(F,{needs:sn,class:"quiet",onClick:()=>a("rename"),children:k.renameIt}),e(F,{needs:sn,class:"quiet",onClick:()=>a("delete"),children:k.deleteIt})]}),e(F,{needs:sn,class:"primary",onClick:()=>a("warrant"),children:[e(Xe,{name:"plus"}),ae.create]})]})]}),e(Fo,{object:r,turn:i}),i&&e(Oe,{children:e("p",{children:i})}),e("nav",{class:"tabs","aria-label":k.about,children:Object.entries(Kt).map(([h,p])=>e("a",{href:_("object",{name:n,tab:h}),"aria-current":h===u?"page":void 0,children:p},h))}),u==="who"||u==="what"?e(ur,{needs:{scope:"query"},children:e(Uo,{object:r,areSubjects:u==="who",turn:i})}):e(zo,{object:r,isSubject:u==="to",turn:i,onDone:o}),s==="warrant"&&e(jr,{...u==="who"||u==="on"?{object:n}:{subject:n},onDone:o,onClose:()=>a(void 0)}),s==="meta"&&e(La,{object:r,onDone:o,onClose:()=>a(void 0)}),s==="rename"&&e(Wa,{object:r,onClose:()=>a(void 0)}),s==="delete"&&e(Pa,{object:r,onDone:o,onClose:()=>a(void 0)})]},n)}function Fo({object:n,turn:t}){const r=$n(n),s=K.value?.includes(n.objectType)===!1,a=$(s?void 0:c=>L(r,{query:{asOf:ce.value},signal:c}),[r,ce.value,t]);if(s)return e("p",{class:"hint",children:k.isLimited(K.value?.join(", "))});if(a.fault?.status===404)return e("p",{class:"hint",children:k.notStored});if(a.fault)return e(R,{fault:a.fault,retry:a.reload});if(!a.value)return e("p",{class:"hint",children:"…"});const{meta:i,createdAt:o}=a.value;return e(w,{children:[e("p",{class:"hint",children:k.created(e(X,{time:o}))}),i&&Object.keys(i).length>0&&e("dl",{class:"meta-list",children:Object.entries(i).map(([c,l])=>e("div",{children:[e("dt",{children:c}),e("dd",{children:typeof l=="string"?l:JSON.stringify(l)})]},c))})]})}function Uo({object:n,areSubjects:t,turn:r}){const{context:s=""}=U.value.parameters;return e(w,{children:[e(_o,{context:s}),e(Go,{object:n,areSubjects:t,turn:r,context:s})]})}function Bo(n){return Object.keys(_e.value?.find(t=>t.type===n)?.relations??{})}function Go({object:n,areSubjects:t,turn:r,context:s}){const{at:a,filter:i="",group:o}=U.value.parameters,[c,l]=f(Ht),d=I(n),u=K.value?.join(", ")??"*",h=t?`select * of type * for ${Kn(n)}`:`select ${u} where ${Kn(n)} is *`,p=$(T=>nt(h,s,c,a,T),[h,s,a,r,c]);if(p.fault?.status===404)return e(Z,{title:k.typeUndefined(n.objectType)});if(p.fault)return e(R,{fault:p.fault,retry:p.reload});if(!p.value)return e(P,{what:k.findingAccess});const{rows:m,isCut:b}=p.value;if(m.length===0)return e(Z,{title:t?k.nobody(d):k.nothing(d)});const y=t?()=>n.objectType:T=>T.objectType;return e(w,{children:[e(bn,{count:[i,o].filter(Boolean).length,children:[e("div",{class:"field",children:[e("label",{for:"filter",children:v.contains}),e("input",{id:"filter",type:"search",value:i,onInput:T=>ye({filter:T.currentTarget.value})})]}),e("div",{class:"field",children:[e("label",{for:"group",children:k.groupBy}),e("select",{id:"group",value:o??"",onChange:T=>ye({group:T.currentTarget.value}),children:[e("option",{value:"",children:k.byNothing}),e("option",{value:Jt,children:k.byReason})]})]})]}),e(Po,{}),Eo(m,y,Bo).map(T=>e($o,{matrix:T,fixed:d,areSubjects:t,context:s,filter:i,isGrouped:o===Jt},T.objectType)),b&&e("div",{class:"actions",children:[e("p",{class:"hint",children:k.more(m.length)}),e("button",{type:"button",class:"quiet",disabled:p.isLoading,onClick:()=>l(c+Ht),children:C.showMore})]})]})}function zo({object:n,isSubject:t,turn:r,onDone:s}){const{next:a,prev:i,at:o}=U.value.parameters,c=t?{subjectType:n.objectType,subjectId:n.objectId}:{objectType:n.objectType,objectId:n.objectId},l=t?{objectType:K.value?.[0]}:{},d=$(u=>{const h={...l,...c,limit:Wo,nextCursor:a,prevCursor:i,asOf:o};return L("v2/warrants",{query:h,signal:u})},[I(n),t,a,i,o,r]);return d.fault?e(R,{fault:d.fault,retry:d.reload}):d.value?d.value.results.length===0?e(Z,{title:k.noWarrants}):e(w,{children:[e(Tr,{warrants:d.value.results,onDone:s}),e(en,{page:d.value})]}):e(P,{what:J.readingWarrants})}function Ho({rows:n,fixed:t,areSubjects:r,context:s,readLines:a}){return e(we,{label:te.results,headings:[r?v.subject:v.object,v.relation,le.how,le.because],hasActions:!0,readLines:a,children:n.map(i=>e("tr",{children:[e("td",{children:[e(Ue,{object:i}),i.subjectRelation&&`#${st(i.subjectRelation)}`]}),e("td",{children:e("b",{children:ln(i.relation)})}),e("td",{children:i.isImplicit?v.byRules:v.byWarrant}),e("td",{children:i.warrant?e(_n,{warrant:i.warrant}):le.nothingExcludes}),e("td",{class:"row-actions",children:[t&&i.objectId!=="*"&&e("a",{href:_("why",{subject:r?on(i):t,relation:i.relation,object:r?t:I(i),context:s}),children:le.why(`${on(i)} ${i.relation}`)}),t&&i.objectId!=="*"&&e(Ts,{subject:r?on(i):t,relation:i.relation,object:r?t:I(i),context:s})]})]},`${on(i)}#${i.relation}`))})}const Jo=1e3,In="v2/saved-queries",Ko={scope:"query",ofAllTypes:!0},dn={scope:"write",ofAllTypes:!0};async function zr(n){return Se(Ko)?[]:(await L(In,{query:{limit:Jo},signal:n})).results}async function Qo(n,t){const r=Gr(n.context.trim())??null,s={name:n.name.trim(),description:n.description.trim()||null,q:n.q.trim(),context:r};return B(t===void 0?In:`${In}/${encodeURIComponent(t)}`,{method:t===void 0?"POST":"PATCH",body:s})}async function Vo({id:n}){await B(`${In}/${encodeURIComponent(n)}`,{method:"DELETE"})}function Hr({name:n,description:t="",q:r,context:s}){return{name:n,description:t,q:r,context:s?JSON.stringify(s):""}}function Jr(n){const{q:t,context:r}=Hr(n);return{q:t,context:r}}function Zo(n){return _("queries",Jr(n))}function Yo(n,t){const r=t.toLowerCase(),s=({name:a})=>+!a.toLowerCase().startsWith(r);return n.filter(({name:a})=>a.toLowerCase().includes(r)).toSorted((a,i)=>s(a)-s(i))}function Xo({saved:n,onDone:t}){const[r,s]=f(),a=()=>s(void 0),i=!Se(dn);return n.length===0?null:e("section",{children:[e("div",{class:"heading",children:e("h2",{children:ie.title})}),e(we,{label:ie.title,headings:[v.name,v.query,ie.saved],hasActions:i,children:n.map(o=>e("tr",{children:[e("td",{children:[e("a",{class:"name",href:Zo(o),children:o.name}),o.description&&e("div",{class:"hint",children:o.description})]}),e("td",{children:[e("code",{children:o.q}),o.context&&e("div",{class:"hint name",children:JSON.stringify(o.context)})]}),e("td",{class:"time",children:v.by(e(X,{time:o.createdAt}),o.createdBy)}),i&&e("td",{class:"row-actions",children:[e(F,{needs:dn,class:"quiet",onClick:()=>s({edit:o}),children:ie.edit(o.name)}),e(F,{needs:dn,class:"quiet",onClick:()=>s({remove:o}),children:ie.delete(o.name)})]})]},o.id))}),r&&"edit"in r&&e(Kr,{id:r.edit.id,fields:Hr(r.edit),onClose:a,onDone:o=>t(ie.changed(o))}),r&&"remove"in r&&e(ec,{saved:r.remove,onClose:a,onDone:o=>t(ie.deleted(o))})]})}function Kr({id:n,fields:t,onDone:r,onClose:s}){const[a,i]=f(t),o=a.name.trim()!==""&&a.q.trim()!=="";async function c(){const{name:d}=await Qo(a,n);r(d)}function l(d,u,h,p=!1){return e("div",{class:"field",children:[e("label",{for:`saved-${d}`,children:u}),e("input",{id:`saved-${d}`,type:"text",class:p?"code":void 0,autocomplete:"off",spellcheck:!p,maxLength:h,required:d==="name"||d==="q",value:a[d],onInput:m=>i({...a,[d]:m.currentTarget.value})})]})}return e(G,{title:n===void 0?ie.saveTitle:ie.editTitle,action:C.save,isReady:o,onConfirm:c,onClose:s,children:[n===void 0&&e("p",{children:ie.all}),l("name",v.name,100),l("description",ie.description,2e3),l("q",v.query,4096,!0),l("context",ie.context,4096,!0)]})}function ec({saved:n,onDone:t,onClose:r}){async function s(){await Vo(n),t(n.name)}return e(G,{title:ie.deleteTitle,action:C.delete,isDangerous:!0,onConfirm:s,onClose:r,children:e("p",{children:ie.deleteAdvice(n.name)})})}const Qr=/,|[^\s,:]+:"[^"]*"?|[^\s,]+/g,nc=/(?:[^\s,:]+:"[^"]*"?|[^\s,]*)$/,tt={"":{select:"select"},select:{where:"where",of:"of"},where:{is:"is"},is:{and:"and"},and:{not:"not",is:"is"},not:{is:"is"},of:{type:"of type"},"of type":{for:"for"},for:{}},tc={select:!0,where:!0,is:!0,not:!0,"of type":!0,for:!0};function rc(n,t){const r=nc.exec(n)?.[0]??"",s=n.slice(0,n.length-r.length);let a="",i=[],o=[],c=!0;for(const h of s.match(Qr)??[]){const p=c&&a in tc?void 0:tt[a][h.toLowerCase()];p!==void 0?(a==="select"&&(o=i),a=p,i=[],c=!0):h===","?c=!0:(a!=="select"||h.toLowerCase()!=="explicit")&&(i.push(h),c=!1)}const l={before:s,word:r,keywords:[],isType:!1,isObject:!1,isAll:!1,named:i};if(a===""||a==="of")return{...l,keywords:Object.keys(tt[a])};if(!c)return{...l,keywords:sc(a,i,t)};const d=i.length===0,u=i.some(h=>t.includes(h));switch(a){case"select":return{...l,isAll:d,keywords:d&&!/explicit\s+$/i.test(s)?["explicit"]:[],isType:d||u,relationsOf:d||!u?[]:void 0};case"is":return{...l,isAll:d,relationsOf:o.filter(h=>t.includes(h))};case"of type":return{...l,isAll:d,isType:!0};case"and":return{...l,keywords:d?["not"]:[],isObject:d};default:return{...l,isObject:d}}}function sc(n,t,r){return n==="and"?["is"]:n!=="select"?Object.keys(tt[n]):t.includes("*")?["where","of type"]:t.every(s=>r.includes(s))?["where"]:["of type"]}function ac(n){const t=n.match(Qr)??[],r=t.findIndex(i=>/^(where|for)$/i.test(i)),s=r<0?void 0:Re(t[r+1]??"");return{name:s&&`${s.objectType}:${s.objectId}`,areSubjects:t[r]?.toLowerCase()==="for"}}const ic=async(n,t)=>{const r=rc(n,Ze());return(r.isObject?await cc(r.word,t):oc(r)).map(a=>({...a,label:a.value,value:r.before+a.value,isPrefix:!0}))};function oc(n){const{relationsOf:t}=n,r=t&&(t.length>0?t.flatMap(i=>kt(i)):kt()),a=[...n.isType?Ze():[],...(r??[]).toSorted(),...n.isAll?["*"]:[]].filter(i=>!n.named.includes(i));return[...new Set([...n.keywords.map(i=>`${i} `),...a])].filter(i=>i.startsWith(n.word)&&i!==n.word).map(i=>({value:i}))}async function cc(n,t){return(await Qe(n.replaceAll('"',""),t)).map(s=>{const a=Re(s.value);return a?{...s,value:Kn(a)}:s})}const lc=50;function dc(){const{q:n="",context:t="",next:r,prev:s,at:a}=U.value.parameters,[i,o]=f({q:n,context:t}),[c,l]=f(!1),[d,u]=f("");dr(()=>{o({q:n,context:t}),u("")},[n,t]);const h=$(n?T=>Br(n,t,{limit:lc,nextCursor:r,prevCursor:s,asOf:a},T):void 0,[n,t,r,s,a]),p=$(n?void 0:zr,[n]);function m(T){u(T),p.reload()}const b=i.q!==n||i.context!==t,y=()=>E("queries",{q:i.q.trim(),context:i.context.trim()});return e("div",{children:[e("h1",{children:x.queries}),e("form",{class:"card query",onSubmit:T=>{T.preventDefault(),y()},children:[e(me,{label:v.query,placeholder:te.example,value:i.q,complete:ic,onInput:T=>o(O=>({...O,q:T})),isRequired:!0,hint:e(w,{children:te.grammar})}),e("details",{open:i.context!=="",children:[e("summary",{children:Pe.context}),e("div",{class:"field",children:[e("label",{for:"context",children:Pe.jsonObject}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:ve.context,value:i.context,onInput:T=>o({...i,context:T.currentTarget.value})})]})]}),e("div",{class:"actions",children:[e("button",{type:"submit",class:"primary",children:te.run}),!Se(dn)&&e(F,{needs:dn,class:"quiet",disabled:i.q.trim()==="",onClick:()=>l(!0),children:te.saveIt}),e("span",{class:"hint",role:"status",children:d})]})]}),c&&e(Kr,{fields:{name:"",description:"",...i},onClose:()=>l(!1),onDone:T=>m(te.savedAs(T))}),p.fault&&e(R,{fault:p.fault,retry:p.reload}),!n&&p.value&&e(Xo,{saved:p.value,onDone:m}),!n&&e(hc,{}),h.fault&&!b&&e(R,{fault:h.fault,retry:h.reload}),n&&!h.value&&!h.fault&&e(P,{what:te.searching}),h.value?.results.length===0&&e(Z,{title:te.nothing,children:e("p",{children:te.nothingAdvice})}),h.value&&h.value.results.length>0&&e(uc,{page:h.value,q:n,context:t,at:a})]})}function uc({page:n,q:t,context:r,at:s}){const[a,i]=f(),[o,c]=f(""),{name:l,areSubjects:d}=ac(t);async function u(){i(void 0),c(C.readingRows);try{const{rows:h,isCut:p}=await nt(t,r,Qn,s);pn("results.json","application/json",`${JSON.stringify(h,null,2)}
`),c(C.savedRows(h.length,p))}catch(h){if(!(h instanceof j))throw h;c(""),i(h)}}return e(w,{children:[e("div",{class:"heading",children:[e("h2",{children:te.results}),e("div",{class:"actions",children:[e("span",{class:"hint",role:"status",children:o}),e("button",{type:"button",class:"quiet",onClick:u,children:C.exportJson})]})]}),a&&e(R,{fault:a}),e(Ho,{rows:n.results,fixed:l,areSubjects:d,context:r,readLines:async h=>{const{rows:p,isCut:m}=await nt(t,r,Qn,s,h);return{lines:da(p),isCut:m}}}),e(en,{page:n}),e(Fe,{forms:{curl:()=>un(qe(),"v2/query",{q:t,context:r?JSON.parse(r):void 0,asOf:s}),[We.command]:()=>{const h=r?JSON.parse(r):void 0;return Cs(qe(),t,h,s)}}})]})}function hc(){const n=_e.value?.filter(s=>Object.keys(s.relations).length>1).at(-1),t=n?Object.keys(n.relations)[0]:void 0;if(!n||!t)return e(Z,{title:te.noModel,children:[e("p",{children:te.noModelAdvice(_("model"))}),e(sr,{})]});const r=[[`select ${n.type} where user:ann is *`,te.startWithType(n.type)],["select * where user:ann is *",te.startWithAll],[`select explicit ${n.type} where user:ann is ${t}`,te.startWithExplicit]];return e(Z,{title:te.listObjects,children:e("ul",{class:"starts",children:r.map(([s="",a])=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>E("queries",{q:s}),children:e("code",{children:s})}),e("span",{class:"hint",children:a})]},s))})})}function Vr(n){const t=n.find(i=>Object.keys(i.allowedTypes??{}).length>0)??n.find(i=>Object.keys(i.relations).length>0);if(!t)return{subjectType:"user",relation:"viewer",objectType:"document"};const[r=Object.keys(t.relations)[0]??"viewer",s=[]]=Object.entries(t.allowedTypes??{})[0]??[];return{subjectType:s.find(i=>!/[#:]/.test(i))??"user",relation:r,objectType:t.type}}async function pc(n){try{const t=fe===void 0||Qt(fe)?{}:{name:fe},{stores:r}=await L("stores",{query:t,signal:n});return{isOn:!0,storeId:(r.find(a=>a.id===fe||a.name===fe)??(fe===void 0?fc(r):void 0))?.id??(fe!==void 0&&Qt(fe)?fe:void 0)}}catch(t){return ft(t,V.noOpenFga)}}function Qt(n){return/^[0-9A-Z]{26}$/.test(n)}function fc(n){return n.length===1?n[0]:n.find(t=>t.name==="default")}async function mc(n){try{return await je("authz",{headers:{"X-Magistrate-Key":Jn.value??""},key:Jn.value??"",signal:n}),{isOn:!0}}catch(t){return t instanceof j&&t.status===403&&/scope/.test(t.message)?{reason:V.lacksForward}:t instanceof j&&[400,401,403].includes(t.status)?{isOn:!0}:ft(t,V.noRules)}}async function vc(n){try{return await L(".well-known/authzen-configuration",{signal:n}),{isOn:!0}}catch(t){return ft(t,V.noPublicUrl)}}function ft(n,t){if(!(n instanceof j))throw n;return n.status===404?{isOn:!1,reason:t}:{reason:`${n.message}.`}}function bc(){const n=qe(),t=Vr(_e.value??[]),{relation:r}=t,s={subject:`${t.subjectType}:1`,relation:r,object:`${t.objectType}:1`},a={objectType:t.objectType,objectId:"1",relation:r,subject:{objectType:t.subjectType,objectId:"1"}};return e(w,{children:[e("p",{class:"hint",children:V.purpose}),e(Ve,{title:hn.product,paths:["/v2","/v1"],state:{isOn:!0},children:[e("p",{children:V.magistrate}),e(Fe,{forms:{curl:()=>un(n,"v2/check",{warrants:[a]}),Python:()=>Ss(n,s),[We.command]:()=>xs(n,s)}})]}),e(yc,{check:s}),e(wc,{}),e(Ve,{title:V.warrantTitle,paths:["/fga/v1"],state:{isOn:!0},children:[e("p",{children:V.warrant}),e(Fe,{forms:{curl:()=>un(n,`fga/v1/query?q=${encodeURIComponent(`select ${s.object.split(":",1)[0]} where ${s.subject} is ${r}`)}`)}})]}),e(kc,{}),e(jc,{})]})}function Ve({title:n,paths:t,state:r,children:s}){const{url:a}=qe();return e("section",{class:"card door","aria-label":n,children:[e("div",{class:"heading",children:[e("h2",{children:n}),r&&e(gc,{state:r})]}),t.map(i=>e("code",{class:"name",children:[a,i]},i)),s,r?.reason&&e("p",{class:"hint",children:r.reason})]})}function gc({state:{isOn:n}}){return n===void 0?e(oe,{tone:"unknown",children:V.notKnown}):n?e(oe,{tone:"yes",children:V.on}):e(oe,{tone:"no",children:V.off})}function mt(n){return n.fault?{reason:`${n.fault.message}.`}:n.value}function yc({check:n}){const t=$(pc,[]),{url:r}=qe(),s=t.value?.storeId??"STORE_ID",a={user:n.subject,relation:n.relation,object:n.object};return e(Ve,{title:V.openFgaTitle,paths:["/stores"],state:mt(t),children:[e("p",{children:V.openFga}),t.value?.storeId&&e("p",{children:V.storeId(s)}),t.value?.isOn&&e(Fe,{forms:{curl:()=>un({url:r,store:void 0},`stores/${s}/check`,{tuple_key:a}),Python:()=>As(r,s,a),fga:()=>Os(r,s,n)}})]})}function wc(){const n=$(vc,[]),t=_e.value??[],r=Vr(t),s=t.flatMap(o=>Object.entries(o.actions??{}).map(([c,l])=>({type:o.type,name:c,relation:l}))),a={subject:{type:r.subjectType,id:"1"},action:{name:r.relation},resource:{type:r.objectType,id:"1"}},i=mt(n);return e(Ve,{title:V.authZenTitle,paths:["/access/v1/evaluation","/access/v1/evaluations","/access/v1/search"],state:{isOn:!0,reason:i?.reason},children:[e("p",{children:V.authZen(_("model"))}),s.length>0&&e(we,{label:V.actions,headings:[v.type,v.action,v.relation],children:s.map(({type:o,name:c,relation:l})=>e("tr",{children:[e("td",{class:"name",children:o}),e("td",{children:e("code",{children:c})}),e("td",{children:e("b",{children:l})})]},`${o} ${c}`))}),e(Fe,{forms:{curl:()=>un(qe(),"access/v1/evaluation",a,!0)}})]})}function kc(){const n=$(mc,[]),{url:t}=qe();return e(Ve,{title:V.gatewaysTitle,paths:["/authz"],state:mt(n),children:[e("p",{children:V.gateways}),e(Fe,{forms:{[We.rules]:()=>Es,[We.request]:()=>Is(t)}})]})}function jc(){const{url:n,store:t}=qe(),r=["mcp","--server",n,...t===void 0?[]:["--store",t]],s={mcpServers:{magistrate:{command:"magistrate",args:r,env:{MAGISTRATE_API_KEY:"…"}}}};return e(Ve,{title:V.agentsTitle,paths:[],state:void 0,children:[e("p",{children:V.agents}),e(Fe,{forms:{[We.settings]:()=>JSON.stringify(s,null,2),[We.command]:()=>Rs(r),[We.key]:()=>"magistrate keys create assistant --scope check --scope query --scope read"}})]})}function vt({what:n,text:t,onClose:r}){const[s,a]=f(!1),i=()=>navigator.clipboard.writeText(t).then(()=>a(!0),()=>a(!1));return e("div",{class:"notice",role:"status",children:[e("p",{children:A.shownOnce(n)}),e("p",{children:e("code",{class:"secret",children:t})}),e("div",{class:"actions",children:[navigator.clipboard!==void 0&&e("button",{type:"button",class:"quiet",onClick:()=>{i()},children:s?A.copied:C.copy}),e("button",{type:"button",class:"quiet",onClick:r,children:A.isStored})]})]})}const Rn={check:pe.check,forward:pe.forward,query:pe.query,read:pe.read,write:pe.write,model:pe.model,events:pe.events,metrics:pe.metrics,keys:pe.keys,webhooks:pe.webhooks,stores:pe.stores,admin:pe.admin},Tc=50;function Zr(n,t){return L("v2/keys",{query:{...n},signal:t})}const Cc=async n=>{const{rows:t,isCut:r}=await vn(s=>Zr(s,n));return{lines:pa(t),isCut:r}};function Yr(){const{next:n,prev:t}=U.value.parameters,[r,s]=f(0),[a,i]=f(),[o,c]=f(),[l,d]=f(""),u=$(m=>Zr({limit:Tc,nextCursor:n,prevCursor:t},m),[n,t,r]),h=()=>i(void 0);function p(m,b){c(b),d(m),s(y=>y+1)}return u.fault?e(R,{fault:u.fault,retry:u.reload}):u.value?e(w,{children:[e("div",{class:"actions",children:e("button",{type:"button",class:"primary",onClick:()=>i("create"),children:[e(Xe,{name:"plus"}),A.create]})}),e("p",{class:"hint",children:A.belong(fe,_("service",{show:"own"}))}),o&&e(vt,{what:A.secretOf(o.name),text:o.key,onClose:()=>c(void 0)}),l&&!o&&e(Oe,{children:e("p",{children:l})}),u.value.results.length===0?e(Z,{title:A.none,children:e("p",{children:A.noneAdvice})}):e(xc,{keys:u.value.results,onOpen:i}),e(en,{page:u.value}),a==="create"&&e(Sc,{onDone:p,onClose:h}),typeof a=="object"&&"revoke"in a&&e(Oc,{of:a.revoke,onDone:p,onClose:h}),typeof a=="object"&&"rotate"in a&&e(Ac,{of:a.rotate,onDone:p,onClose:h})]}):e(P,{what:A.reading})}function xc({keys:n,onOpen:t}){return e(we,{label:x.keys,headings:[v.name,A.beginsWith,A.scopes,v.objectTypes,v.created,A.lastUsed,A.expires],hasActions:!0,readLines:Cc,children:n.map(r=>e("tr",{children:[e("td",{class:"name",children:r.name}),e("td",{children:e("code",{children:[r.prefix,"…"]})}),e("td",{children:e("details",{class:"meaning",children:[e("summary",{children:r.scopes.join(", ")}),e("ul",{children:r.scopes.map(s=>e("li",{children:[e("b",{children:s}),": ",Rn[s]??A.unknownScope]},s))})]})}),e("td",{children:r.objectTypes?.join(", ")??v.all}),e("td",{class:"time",children:v.by(e(X,{time:r.createdAt}),r.createdBy)}),e("td",{class:"time",children:r.lastUsedAt?e(X,{time:r.lastUsedAt}):v.never}),e("td",{class:"time",children:r.expiresAt?e(X,{time:r.expiresAt}):v.never}),e("td",{class:"row-actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>t({rotate:r}),children:A.rotate(r.name)}),e("button",{type:"button",class:"quiet",onClick:()=>t({revoke:r}),children:A.revoke(r.name)})]})]},r.id))})}function Sc({onDone:n,onClose:t}){const[r,s]=f(""),[a,i]=f(["check"]),[o,c]=f([]),[l,d]=f("");async function u(){if(a.length===0)throw new j(400,"invalid",A.noScope);const h={name:r.trim(),scopes:a,...o.length>0?{objectTypes:o}:{},...l?{expiresAt:new Date(l).toISOString()}:{}},p=await B("v2/keys",{body:h});n(A.created(p.name),p)}return e(G,{title:A.create,action:C.create,onConfirm:u,onClose:t,children:[e("div",{class:"field",children:[e("label",{for:"key-name",children:v.name}),e("input",{id:"key-name",type:"text",required:!0,maxLength:64,value:r,onInput:h=>s(h.currentTarget.value)}),e("span",{class:"hint",children:A.nameAdvice})]}),e(Vt,{legend:A.scopes,choices:Object.entries(Rn),chosen:a,onChange:i}),e("details",{children:[e("summary",{children:A.limits}),e(Vt,{legend:A.chooseTypes,choices:Ze().map(h=>[h,""]),chosen:o,onChange:c}),e("div",{class:"field",children:[e("label",{for:"key-expires",children:v.expiresAt}),e("input",{id:"key-expires",type:"datetime-local",value:l,onInput:h=>d(h.currentTarget.value)})]})]})]})}function Vt({legend:n,choices:t,chosen:r,onChange:s}){return e("fieldset",{class:"choices",children:[e("legend",{children:n}),t.map(([a,i])=>e("label",{children:[e("input",{type:"checkbox",checked:r.includes(a),onChange:o=>s(o.currentTarget.checked?[...r,a]:r.filter(c=>c!==a))}),e("span",{children:[e("b",{children:a})," ",i&&e("span",{class:"hint",children:i})]})]},a))]})}function Oc({of:n,onDone:t,onClose:r}){async function s(){await B("v2/keys/"+encodeURIComponent(n.id),{method:"DELETE"}),t(A.revoked(n.name))}return e(G,{title:A.revokeTitle(n.name),action:C.revoke,isDangerous:!0,onConfirm:s,onClose:r,children:e("p",{children:A.revokeAdvice(n.prefix,n.lastUsedAt?e(X,{time:n.lastUsedAt}):v.never)})})}function Ac({of:n,onDone:t,onClose:r}){const[s,a]=f("3600");async function i(){const o={graceSeconds:Number(s)},c=await B(`v2/keys/${encodeURIComponent(n.id)}/rotate`,{body:o});t(A.rotated(n.name),c)}return e(G,{title:A.rotateTitle(n.name),action:C.rotate,onConfirm:i,onClose:r,children:e("div",{class:"field",children:[e("label",{for:"grace",children:A.oldStaysValid}),e("select",{id:"grace",value:s,onChange:o=>a(o.currentTarget.value),children:[e("option",{value:"0",children:A.noTime}),e("option",{value:"3600",children:A.anHour}),e("option",{value:"86400",children:A.aDay})]})]})})}const Ec=/^(\w+)(?:\{(.*)\})? (\S+)$/,Ic=/(\w+)="((?:[^"\\]|\\.)*)"/g;function Rc(n,t){const r=[];for(const s of n.split(`
`)){const a=Ec.exec(s);if(!a)continue;const i=Object.fromEntries([...(a[2]??"").matchAll(Ic)].map(o=>[o[1]??"",o[2]??""]));r.push({name:a[1]??"",labels:i,value:Number(a[3])})}return{at:t,samples:r}}function qc(n,t){const r=n&&Math.max(t.at-n.at,.001),s=n?_c(n,t):t.samples,a=(h,p)=>r&&Ce(h,p)/r,i=Ce(s,"magistrate_graph_hits_total"),o=i+Ce(s,"magistrate_graph_misses_total")+Ce(s,"magistrate_graph_given_up_total"),c=s.filter(h=>h.name===$e&&/^5/.test(h.labels.status??"")),l=Zt(s),u=[...Zt(t.samples.filter(h=>h.name===$e))].map(([h,p])=>{const m=l.get(h)??[];return{route:h,total:Ce(p,$e),perSecond:a(m,$e),...Yt(m)}});return{total:Ce(t.samples,$e),perSecond:a(s,$e),...Yt(s),cacheHits:o>0?i/o:void 0,statementsPerSecond:a(s,"magistrate_statements_total"),errorsPerSecond:a(c,$e),refusedPerSecond:a(s,"magistrate_requests_shed_total"),cachedEntries:Ce(t.samples,"magistrate_graph_entries"),running:Ce(t.samples,"magistrate_requests_running"),waiting:Ce(t.samples,"magistrate_requests_waiting"),routes:u.sort((h,p)=>p.total-h.total||(h.route<p.route?-1:1))}}const $e="magistrate_requests_total";function Zt(n){const t=new Map;for(const r of n){const s=Mc(r),a=t.get(s);a?a.push(r):t.set(s,[r])}return t}function Mc(n){return`${n.labels.method??""} ${n.labels.route||D.otherPaths}`}function Ce(n,t){return n.reduce((r,s)=>s.name===t?r+s.value:r,0)}function _c(n,t){const r=a=>a.name+JSON.stringify(a.labels),s=new Map(n.samples.map(a=>[r(a),a.value]));return t.samples.map(a=>({...a,value:Math.max(a.value-(s.get(r(a))??0),0)}))}function Yt(n){const t=new Map;for(const i of n){if(i.name!=="magistrate_request_seconds_bucket")continue;const o=i.labels.le==="+Inf"?1/0:Number(i.labels.le);t.set(o,(t.get(o)??0)+i.value)}const r=[...t].sort(([i],[o])=>i-o),s=r.at(-1)?.[1]??0;if(s===0)return{};const a=i=>(r.find(([,o])=>o>=s*i)?.[0]??1/0)*1e3;return{p50Ms:a(.5),p99Ms:a(.99)}}const $c=2e3,Xr=60,Nc=50;function Lc(){const[n,t]=f([]),[r,s]=f(),[a,i]=f(!1);if(re(()=>{if(a||r)return;const c=new AbortController;let l,d;const u=()=>{Dc(c.signal).then(h=>{if(c.signal.aborted)return;const p=qc(l,h);t(m=>[...m.filter(Xt),p].slice(-Xr)),l=h,d=setTimeout(u,$c)},h=>{if(!c.signal.aborted){if(!(h instanceof j))throw h;s(h)}})};return u(),()=>{c.abort(),clearTimeout(d)}},[a,r]),r)return e(R,{fault:r,retry:()=>s(void 0)});const o=n.at(-1);return o?e(w,{children:[e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet","aria-pressed":a,onClick:()=>i(!a),children:a?C.continue:C.pause}),e("span",{class:"hint",role:"status",children:Xt(o)?D.everyTwoSeconds:D.sinceStart})]}),e("dl",{class:"figures",children:[e(Ae,{title:D.requests,value:cn(o.perSecond),points:n.map(c=>c.perSecond??0),children:D.inAll(o.total)}),e(Ae,{title:D.p50,value:qn(o.p50Ms),points:n.map(c=>c.p50Ms??0)}),e(Ae,{title:D.p99,value:qn(o.p99Ms),points:n.map(c=>c.p99Ms??0)}),e(Ae,{title:D.cacheHits,value:o.cacheHits===void 0?D.noChecks:`${Math.round(o.cacheHits*100)} %`,points:n.map(c=>c.cacheHits??0)}),e(Ae,{title:D.cacheEntries,value:o.cachedEntries.toLocaleString()}),e(Ae,{title:D.statements,value:cn(o.statementsPerSecond)}),e(Ae,{title:D.errors,value:cn(o.errorsPerSecond)}),e(Ae,{title:D.refused,value:cn(o.refusedPerSecond),children:D.waiting(o.running,o.waiting)})]}),e(Wc,{now:o})]}):e(P,{what:D.reading})}function Xt(n){return n.perSecond!==void 0}function Ae({title:n,value:t,points:r,children:s}){return e("div",{class:"card figure",children:[e("dt",{children:n}),e("dd",{children:t}),s&&e("dd",{class:"hint",children:s}),r&&e(Pc,{points:r})]})}function Pc({points:n}){const t=n.map(o=>Number.isFinite(o)?o:0),r=Math.max(...t,1e-9),s=120/(Xr-1),a=120-(t.length-1)*s,i=t.map((o,c)=>`${(a+c*s).toFixed(1)},${(27-25*o/r).toFixed(1)}`);return e("svg",{class:"line",viewBox:"0 0 120 28",preserveAspectRatio:"none","aria-hidden":"true",children:e("polyline",{points:i.join(" ")})})}function Wc({now:n}){return e(we,{label:D.routes,headings:[D.route,D.requestsOfRoute,D.aSecond,D.p50,D.p99],children:n.routes.slice(0,Nc).map(t=>e("tr",{children:[e("td",{class:"name",children:t.route}),e("td",{children:t.total.toLocaleString()}),e("td",{children:cn(t.perSecond)}),e("td",{children:qn(t.p50Ms)}),e("td",{children:qn(t.p99Ms)})]},t.route))})}async function Dc(n){const t=await(await je("metrics",{accept:"text/plain",signal:n})).text();return Rc(t,performance.now()/1e3)}function cn(n){return n===void 0?"–":n>=100?String(Math.round(n)):n.toFixed(1)}function qn(n){return n===void 0?"–":Number.isFinite(n)?D.milliseconds(Number(n.toPrecision(3))):D.tooLong}function Fc(){const n=qs.value;return n?e(w,{children:[e("p",{children:Te.signedIn(n.name,fe,n.scopes.includes("stores"))}),e("p",{children:K.value?Te.isLimited(K.value.join(", ")):Te.isOfAllTypes}),e(we,{label:Te.title,headings:[Te.scope,Te.meaning,x.ownKey],children:Object.entries(Rn).map(([t,r])=>e("tr",{children:[e("td",{children:e("b",{children:t})}),e("td",{children:r===Rn.admin?Te.allOfThis:r}),e("td",{children:n.scopes.includes(t)?e(oe,{tone:"yes",children:Te.may}):e(oe,{tone:"no",children:Te.mayNot})})]},t))})]}):null}const Uc={900:Ne.aQuarter,3600:A.anHour,86400:A.aDay};function Bc(){const[n,t]=f(""),[r,s]=f("3600"),[a,i]=f(),[o,c]=f();async function l(d){d.preventDefault(),c(void 0);try{const u={type:"sess",userId:n.trim(),ttl:Number(r)},{token:h}=await B("v2/sessions",{body:u});i({user:n.trim(),token:h})}catch(u){if(!(u instanceof j))throw u;c(u)}}return e(w,{children:[a&&e(vt,{what:Ne.of(a.user),text:a.token,onClose:()=>i(void 0)}),o&&e(R,{fault:o}),e("form",{class:"card",onSubmit:l,onInput:()=>c(void 0),children:[e("h2",{children:Ne.create}),e("p",{children:Ne.advice}),e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"session-user",children:Ne.user}),e("input",{id:"session-user",type:"text",required:!0,placeholder:Ne.exampleOfUser,value:n,onInput:d=>t(d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"session-length",children:Ne.validFor}),e("select",{id:"session-length",value:r,onChange:d=>s(d.currentTarget.value),children:Object.entries(Uc).map(([d,u])=>e("option",{value:d,children:u},d))})]}),e("button",{type:"submit",class:"primary",children:C.create})]})]})]})}const Gc=[{name:"url",label:g.url,placeholder:g.exampleOfUrl},{name:"description",label:g.description}],zc=[{name:"objectType",label:v.objectTypes,placeholder:g.exampleOfTypes,hint:g.namesAdvice},{name:"relation",label:v.relations,placeholder:ve.relation},{name:"subjectType",label:v.subjectTypes,placeholder:ve.subjectType}],Hc=[{name:"of",label:v.access,placeholder:ve.access,hint:g.patternsAdvice}];function es({fields:n,isOfAccess:t,onChange:r}){return e(w,{children:[...Gc,...t?Hc:zc].map(({name:s,label:a,placeholder:i,hint:o})=>e("div",{class:"field",children:[e("label",{for:`webhook-${s}`,children:a}),e("input",{id:`webhook-${s}`,type:"text",inputMode:s==="url"?"url":void 0,spellcheck:!1,required:s==="url"||s==="of",maxLength:s==="description"?1e3:void 0,placeholder:i,"aria-describedby":o&&`webhook-${s}-hint`,value:n[s],onInput:c=>r({...n,[s]:c.currentTarget.value})}),o&&e("span",{class:"hint",id:`webhook-${s}-hint`,children:o})]},s))})}const Jc={enabled:["yes",g.enabled],disabled:["unknown",g.disabled],gone:["no",g.gone],dead:["no",g.dead]};function ns({webhook:n}){const{state:t,reason:r,attempts:s,nextAttemptAt:a}=n,[i,o]=t==="enabled"&&s?["unknown",g.retrying]:Jc[t];return e(w,{children:[e(oe,{tone:i,children:o}),s!==void 0&&t==="enabled"&&e("div",{class:"hint",children:g.failed(s,a&&er(a))}),r&&e("div",{class:"hint",children:r})]})}const Le={scope:"webhooks"},Kc=25;function Qc({id:n,onIssue:t}){const[r,s]=f(),[a,i]=f(),[o,c]=f(),[l,d]=f(!1),u=$(O=>Vc(n,O),[n]);async function h(O){d(!0),c(void 0),i(void 0);try{i(await O())}catch(ne){if(!(ne instanceof j))throw ne;c(ne)}d(!1),u.reload()}function p(O){c(void 0),i(O),u.reload()}if(u.fault)return e(R,{fault:u.fault,retry:u.reload});if(!u.value)return e(P,{what:g.readingOne});const{webhook:m,deliveries:b}=u.value,y={webhook:m,onDone:p,onClose:()=>s(void 0)},T=m.enabled;return e(w,{children:[e(Xc,{webhook:m}),e("div",{class:"actions",children:[e(F,{needs:Le,class:"quiet",disabled:l,onClick:()=>h(()=>Zc(n)),children:g.sendTest}),e(F,{needs:Le,class:"quiet",disabled:l,onClick:()=>h(()=>Yc(n,!T)),children:T?g.disable:g.enable}),e(F,{needs:Le,class:"quiet",onClick:()=>s("edit"),children:g.edit}),e(F,{needs:Le,class:"quiet",onClick:()=>s("rotate"),children:g.rotate}),e(F,{needs:Le,class:"quiet",onClick:()=>s({since:""}),children:g.replay}),e(F,{needs:Le,class:"quiet",onClick:()=>s("delete"),children:g.delete})]}),o&&e(R,{fault:o}),a&&e(Oe,{children:e("p",{children:a})}),e(el,{deliveries:b,isLoading:u.isLoading,onReload:u.reload,onReplay:s}),r==="edit"&&e(nl,{...y}),r==="rotate"&&e(tl,{...y,onIssue:t}),r==="delete"&&e(rl,{...y}),typeof r=="object"&&e(sl,{...y,since:r.since})]})}async function Vc(n,t){const[r,s]=await Promise.all([L(Me(n),{signal:t}),L(Me(n,"deliveries"),{signal:t})]);return{webhook:r,deliveries:s.results}}async function Zc(n){return e(ts,{delivery:await B(Me(n,"test"),{method:"POST"})})}async function Yc(n,t){return await B(Me(n),{method:"PATCH",body:{enabled:t}}),t?g.isEnabled:g.isDisabled}function Xc({webhook:n}){return e("section",{class:"card","aria-label":g.title,children:[e("h2",{class:"name",children:n.url}),n.description&&e("p",{children:n.description}),e("dl",{class:"meta-list",children:[e(Ge,{name:v.state,children:e(ns,{webhook:n})}),e(Ge,{name:g.gets,children:it(n)}),e(Ge,{name:v.created,children:v.by(e(X,{time:n.createdAt}),n.createdBy)}),e(Ge,{name:g.hasUpTo,children:e("a",{href:_("data",{at:n.token}),children:g.thisWrite})}),n.previousUntil&&e(Ge,{name:g.oldSecret,children:e(X,{time:n.previousUntil})}),n.skipped&&e(Ge,{name:g.skipped,children:g.skippedChanges(e(X,{time:n.skipped.time}),_("data",{at:n.skipped.after}))})]}),e("p",{children:e("a",{href:_("service",{show:"webhooks"}),children:g.all})})]})}function Ge({name:n,children:t}){return e("div",{children:[e("dt",{children:n}),e("dd",{children:t})]})}function el({deliveries:n,isLoading:t,onReload:r,onReplay:s}){return e(w,{children:[e("div",{class:"heading",children:[e("h2",{children:se.title}),e("button",{type:"button",class:"quiet","aria-disabled":t,onClick:r,children:se.readAgain})]}),n.length===0?e(Z,{title:se.none,children:e("p",{children:se.noneAdvice})}):e(we,{label:se.title,headings:[se.time,se.result,se.took,se.attempt,se.message],hasActions:!0,children:n.map(a=>e("tr",{children:[e("td",{class:"time",children:e(X,{time:a.time,isExact:!0})}),e("td",{children:e(ts,{delivery:a})}),e("td",{class:"time",children:D.milliseconds(Math.round(a.duration))}),e("td",{children:a.attempt}),e("td",{children:e("code",{children:a.id})}),e("td",{class:"row-actions",children:e(F,{needs:Le,class:"quiet",onClick:()=>s({since:a.tokens[0]??""}),children:se.replayAfter(a.id)})})]},a.time+a.id))})]})}function ts({delivery:{status:n,error:t}}){return e(w,{children:[e(oe,{tone:t?"no":"yes",children:t?se.failed:se.delivered})," ",t??(n!==void 0&&se.answered(n))]})}function nl({webhook:n,onDone:t,onClose:r}){const[s,a]=f(Vn(n));async function i(){await B(Me(n.id),{method:"PATCH",body:fr(s)}),t(g.saved)}return e(G,{title:g.editTitle,action:C.save,onConfirm:i,onClose:r,children:e(es,{fields:s,isOfAccess:n.of!==void 0,onChange:a})})}function tl({webhook:n,onDone:t,onClose:r,onIssue:s}){async function a(){s(await B(Me(n.id,"rotate"),{body:{}})),t(g.rotated)}return e(G,{title:g.rotateTitle,action:C.rotate,onConfirm:a,onClose:r,children:e("p",{children:g.rotateAdvice})})}function rl({webhook:n,onClose:t}){async function r(){await B(Me(n.id),{method:"DELETE"}),E("service",{show:"webhooks"})}return e(G,{title:g.deleteTitle,action:C.delete,isDangerous:!0,onConfirm:r,onClose:t,children:e("p",{children:g.deleteAdvice(n.url)})})}function sl({webhook:n,since:t,onDone:r,onClose:s}){const[a,i]=f(t),o=an(al,[]);async function c(){await B(Me(n.id,"replay"),{body:{since:a.trim()}}),r(g.replayed)}return e(G,{title:g.replayTitle,action:g.replayNow,onConfirm:c,onClose:s,children:e(me,{label:g.after,value:a,placeholder:g.exampleOfToken,complete:o,onInput:i,isRequired:!0,hint:g.replayAdvice})})}function al(){let n;return async t=>Se({scope:"events"})?[]:(n??=il(),(await n).filter(({value:r,label:s})=>`${r} ${s}`.includes(t)))}async function il(){const{revisions:n}=await cr(void 0).readMore(Kc,new AbortController().signal);return n.flatMap(t=>t.before===void 0?[]:[{value:t.before,label:Ms(t),hint:He(t.createdAt)}])}const ol=50;function cl(){const{id:n}=U.value.parameters,[t,r]=f(),s=t!==void 0&&t.id===n;return e(w,{children:[s&&e(vt,{what:g.secret,text:t.secret,onClose:()=>r(void 0)}),n===void 0?e(dl,{onIssue:r}):e(Qc,{id:n,onIssue:r},n)]})}function rs(n,t){return L("v2/webhooks",{query:{...n},signal:t})}const ll=async n=>{const{rows:t,isCut:r}=await vn(s=>rs(s,n));return{lines:fa(t),isCut:r}};function dl({onIssue:n}){const{next:t,prev:r}=U.value.parameters,[s,a]=f(!1),i=$(o=>rs({limit:ol,nextCursor:t,prevCursor:r},o),[t,r]);return i.fault?e(R,{fault:i.fault,retry:i.reload}):i.value?e(w,{children:[e("div",{class:"actions",children:e(F,{needs:{scope:"webhooks"},class:"primary",onClick:()=>a(!0),children:[e(Xe,{name:"plus"}),g.create]})}),i.value.results.length===0?e(Z,{title:g.none,children:e("p",{children:g.noneAdvice})}):e(ul,{webhooks:i.value.results}),e(en,{page:i.value}),s&&e(hl,{onIssue:n,onClose:()=>a(!1)})]}):e(P,{what:g.reading})}function ul({webhooks:n}){return e(we,{label:x.webhooks,headings:[g.url,g.gets,v.state,v.created],readLines:ll,children:n.map(t=>e("tr",{children:[e("td",{children:[e("a",{class:"name",href:_("service",{show:"webhooks",id:t.id}),children:t.url}),t.description&&e("div",{class:"hint",children:t.description})]}),e("td",{children:it(t)}),e("td",{children:e(ns,{webhook:t})}),e("td",{class:"time",children:v.by(e(X,{time:t.createdAt}),t.createdBy)})]},t.id))})}function hl({onIssue:n,onClose:t}){const[r,s]=f(Vn()),[a,i]=f(""),[o,c]=f(!1);function l(u){c(u),s({...Vn(),url:r.url,description:r.description})}async function d(){const u={...fr(r),secret:a.trim()||void 0},h=await B("v2/webhooks",{body:u});n(h),E("service",{show:"webhooks",id:h.id})}return e(G,{title:g.create,action:C.create,onConfirm:d,onClose:t,children:[e("div",{class:"field",children:[e("label",{for:"webhook-gets",children:g.gets}),e("select",{id:"webhook-gets",value:String(o),onChange:u=>l(u.currentTarget.value==="true"),children:[e("option",{value:"false",children:q.written}),e("option",{value:"true",children:g.access})]})]}),e(es,{fields:r,isOfAccess:o,onChange:s}),e("details",{children:[e("summary",{children:g.ownSecret}),e("div",{class:"field",children:[e("label",{for:"webhook-secret",children:g.signs}),e("input",{id:"webhook-secret",type:"password",autocomplete:"off",spellcheck:!1,placeholder:g.exampleOfSecret,value:a,onInput:u=>i(u.currentTarget.value)}),e("span",{class:"hint",children:g.noSecret})]})]})]})}const Hn={keys:{title:x.keys,body:Yr,needs:{scope:"keys",ofAllTypes:!0}},own:{title:x.ownKey,body:Fc,needs:{scope:"read"}},sessions:{title:x.sessions,body:Bc,needs:{scope:"check",ofAllTypes:!0}},webhooks:{title:x.webhooks,body:cl,needs:{scope:"webhooks",ofAllTypes:!0}},integrations:{title:x.integrations,body:bc,needs:{scope:"read"}},metrics:{title:x.metrics,body:Lc,needs:{scope:"metrics"}}};function pl(){const{show:n="keys"}=U.value.parameters,t=n in Hn?n:"keys",{body:r=Yr,needs:s}=Hn[t]??{};return e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:x.service}),e("nav",{class:"tabs","aria-label":x.partsOfService,children:Object.entries(Hn).map(([a,{title:i}])=>e("a",{href:_("service",{show:a}),"aria-current":a===t?"page":void 0,children:i},a))})]}),e(ur,{needs:s,children:e(r,{})},t)]})}const fl=300,ml=4194304;function vl(){const n=De.value,[t,r]=f(n!=="");return re(()=>r(t||n!==""),[n]),e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:x.tests}),e(bl,{text:n,onClear:()=>r(!1)})]}),n||t?e(gl,{text:n}):e(Cl,{})]})}function bl({text:n,onClear:t}){const[r,s]=f(),[a,i]=f(""),[o,c]=f(!1),l=ee(null);async function d(m){s(void 0),i("");try{i(await m())}catch(b){if(!(b instanceof j))throw b;s(b)}}async function u(){return pn("model.test.yaml","application/yaml",await Ds(n)),N.saved}async function h(){const m=await Fs(n);return pn("playground.test.yaml","application/yaml",m.text),N.savedAll(m.warrants,m.isCut?Us:void 0)}async function p(m){if(!m)return"";if(m.size>ml)throw new j(400,"invalid",N.tooLarge);return De.value=await m.text(),N.opened(m.name)}return e(w,{children:[e("div",{class:"actions",children:[e("input",{ref:l,type:"file",class:"sr",tabIndex:-1,"aria-label":N.file,accept:".yaml,.yml,.json",onChange:m=>{const b=m.currentTarget;d(()=>p(b.files?.[0])).then(()=>b.value="")}}),e("button",{type:"button",class:"quiet",onClick:()=>l.current?.click(),children:N.open}),n&&e(w,{children:[e("button",{type:"button",class:"quiet",onClick:()=>d(u),children:C.download}),e("button",{type:"button",class:"quiet",onClick:()=>c(!0),children:N.clear})]}),e("button",{type:"button",class:"quiet",onClick:()=>d(h),children:N.downloadAll})]}),e("p",{class:"hint",role:"status",children:a}),r&&e(R,{fault:r}),o&&e(G,{title:N.removeTitle,action:C.remove,isDangerous:!0,onConfirm:()=>(De.value="",t(),Promise.resolve()),onClose:()=>c(!1),children:e("p",{children:N.removeAdvice})})]})}function gl({text:n}){const[t,r]=f(n),s=ee(void 0),a=$(yl,[]);re(()=>{const y=setTimeout(()=>r(n),fl);return()=>clearTimeout(y)},[n]);const i=t.trim()==="",o=$(i?void 0:y=>L("v2/model/test",{text:t,signal:y}),[t]),{value:c,fault:l}=o,d=an(()=>En(t.split(`
`),"tests"),[t]),u=an(()=>l&&ni(l.message,t),[l]),h=an(()=>u?[u]:[],[u]),p=an(()=>l||!c?[]:c.results.flatMap(y=>wl(y,d)),[c,l]),m=(y,T)=>s.current?.goTo(y,T),b=a.value;return e("div",{class:"tests",children:[e("div",{class:"field",children:[b?e(b,{text:n,faults:h,failures:p,onText:y=>De.value=y,onReady:y=>s.current=y}):e("div",{class:"editor",children:!a.fault&&e(P,{what:H.loadingEditor})}),a.fault&&e(R,{fault:a.fault}),e("span",{class:"hint",children:N.editorAdvice})]}),e("section",{class:"card results","aria-label":te.results,"aria-live":"polite","aria-busy":o.isLoading,children:[l&&e(R,{fault:l,retry:o.reload}),u&&e("button",{type:"button",class:"linklike",onClick:()=>m(u.line,u.column),children:N.line(u.line)}),i&&e("p",{children:N.noTestsInFile}),!i&&!c&&!l&&e(P,{what:N.running}),c&&e(kl,{run:c,lines:d,goTo:m})]})]})}async function yl(){try{return(await lr(async()=>{const{TestsEditor:n}=await import("./tests_editor.js");return{TestsEditor:n}},[],import.meta.url)).TestsEditor}catch{throw new j(0,"unreachable",H.editorNotLoaded)}}function wl({test:n,failure:t},r){const s=r[n];return t&&s?[{line:s,column:Ar,code:"",message:t}]:[]}function kl({run:n,lines:t,goTo:r}){if(n.results.length===0)return e("p",{children:N.noTestsInFile});const s=n.results.filter(o=>!o.passed),a=n.results.filter(o=>o.passed),i=o=>e("ul",{class:"test-list",children:o.map((c,l)=>e(jl,{result:c,line:t[c.test],goTo:r},l))});return e(w,{children:[e("p",{class:"sentence-line",children:[e(oe,{tone:n.failed?"no":"yes",children:n.failed?N.failed:N.passed})," ",e("b",{children:N.counts(n.passed,n.failed)})]}),s.length>0&&i(s),a.length>0&&e("details",{children:[e("summary",{children:N.whatPassed}),i(a)]})]})}function jl({result:n,line:t,goTo:r}){const{name:s,passed:a,failure:i,explanation:o}=n;return e("li",{children:[e(oe,{tone:a?"yes":"no",children:a?N.passed:N.failed})," ",e("span",{class:"name",children:s})," ",t&&e("button",{type:"button",class:"linklike",onClick:()=>r(t),children:N.line(t)}),i&&e("p",{class:"failure",children:i}),o&&e(Tl,{explanation:o})]})}function Tl({explanation:n}){const t=n.decision==="allowed",r=n.wouldAllow?.[0],s=Mn(n.check);return e("details",{children:[e("summary",{children:N.why(n.decision==="allowed")}),t&&e(_s,{links:$s(n.path??[]),label:Pe.whatAllows}),!t&&Ns(n).map((a,i)=>e("p",{children:a.sentence},i)),r&&e(w,{children:[e("p",{class:"hint",children:N.wouldAllow}),e("ul",{class:"changes",children:Ls(r).map(a=>e("li",{children:[e("span",{class:`verb ${a.verb}`,children:xe[a.verb]})," ",e("code",{children:a.what})]},a.verb+a.what))}),e("p",{class:"hint effects",children:Ps(r)})]}),e("details",{children:[e("summary",{children:Pe.everyStep}),e(Ws,{root:n.because})]}),s&&e("p",{children:e("a",{href:_("why",{subject:mn(s.subject),relation:s.relation,object:I(s)}),children:N.sameCheck})})]})}function Cl(){const n=_e.value?.find(s=>Object.keys(s.relations).length>0),t=n&&Object.keys(n.relations).at(-1),r=()=>{const s=JSON.stringify(`${n?.type??"document"}:example#${t??"viewer"}@user:nobody`);De.value=`setup:
  warrants: []
tests:
  - {name: somebody else, check: ${s}, expect: false}
`};return e(Z,{title:N.noTests,children:[e("p",{children:N.noTestsAdvice(_("why"),_("queries"))}),e("p",{children:e("button",{type:"button",class:"primary",onClick:r,children:N.startWithExample})})]})}const xl=8,Sl=8,Ol=40,Al=[{name:x.why,hint:M.explainACheck,run:()=>E("why")},{name:x.objects,hint:M.page,run:()=>E("data")},{name:x.warrants,hint:M.page,run:()=>E("data",{show:"warrants"})},{name:x.queries,hint:M.page,run:()=>E("queries"),needs:{scope:"query"}},{name:x.history,hint:M.page,run:()=>E("history"),needs:{scope:"events"}},{name:x.live,hint:M.live,run:()=>E("live"),needs:{scope:"events"}},{name:x.model,hint:M.page,run:()=>E("model"),needs:{scope:"read",ofAllTypes:!0}},{name:x.tests,hint:M.page,run:()=>E("tests"),needs:{scope:"read",ofAllTypes:!0}},{name:x.keys,hint:M.servicePage,run:()=>E("service")},{name:x.ownKey,hint:M.servicePage,run:()=>E("service",{show:"own"})},{name:x.integrations,hint:M.integrations,run:()=>E("service",{show:"integrations"})},{name:x.sessions,hint:M.servicePage,run:()=>E("service",{show:"sessions"})},{name:x.webhooks,hint:M.servicePage,run:()=>E("service",{show:"webhooks"})},{name:x.metrics,hint:M.servicePage,run:()=>E("service",{show:"metrics"})}],El=[{name:ae.create,hint:M.action,run:()=>E("data",{show:"warrants",open:"warrant"}),needs:{scope:"write"},isChange:!0},{name:k.create,hint:M.action,run:()=>E("data",{open:"object"}),needs:{scope:"write"},isChange:!0},{name:Y.title,hint:M.action,run:()=>E("data",{open:"file"}),needs:{scope:"write"},isChange:!0},{name:hn.changeColours,hint:M.action,run:Bs},{name:hn.signOut,hint:M.action,run:()=>Gs()}];async function Il(n,t,r){const s=n.trim(),a=Rl(s),i=ql(s),o=s?_l(s):[],[c,l]=await Promise.all([s?$l(s,r):[],Ml(s,t)]),d=new Set(c.map(h=>h.name)),u=s?[...l,...c,...a]:[...a,...l];return[...i.filter(h=>!d.has(h.name)),...u,...o].slice(0,Ol)}function Rl(n){const t=n.toLowerCase();return[...Al,...El].filter(({needs:a,isChange:i})=>(!a||!Se(a))&&!(i&&ce.value!==void 0)).filter(({name:a})=>a.toLowerCase().includes(t)).toSorted((a,i)=>Number(i.name.toLowerCase().startsWith(t))-Number(a.name.toLowerCase().startsWith(t)))}function ql(n){const t=Mn(n);if(t){const{subject:s,relation:a}=t;return[{name:n,hint:M.explainThisCheck,run:()=>E("why",{subject:mn(s),relation:a,object:I(t)})}]}if(/^select\s/i.test(n)&&!Se({scope:"query"}))return[{name:n,hint:M.runThisQuery,run:()=>E("queries",{q:n})}];const r=Re(n);return r?[{name:I(r),hint:M.objectOrSubject,run:()=>E("object",{name:I(r)})}]:[]}async function Ml(n,t){return Yo(await t(),n).slice(0,Sl).map(s=>({name:s.name,hint:M.savedQuery,run:()=>E("queries",Jr(s))}))}function _l(n){return Se({scope:"read",ofAllTypes:!0})?[]:(_e.value??[]).flatMap(({type:r,relations:s})=>[r,...Object.keys(s).map(a=>`${r}#${a}`)]).filter(r=>r.includes(n)).toSorted((r,s)=>Number(s.startsWith(n))-Number(r.startsWith(n))).map(r=>({name:r,hint:M.inModel,run:()=>E("model",{of:r})}))}async function $l(n,t){const r=n.indexOf(":"),a={objectType:r>=0?n.slice(0,r):K.value?.[0],q:r>=0?n.slice(r+1):n,limit:xl,asOf:ce.value},{results:i}=await L("v2/objects",{query:a,signal:t});return i.map(o=>{const c=I(o);return{name:c,hint:ar(o.meta)??M.objectOrSubject,run:()=>E("object",{name:c})}})}const Nl=100;function Ll(){return hr.value==="shortcuts"?e(Wl,{}):e(Pl,{})}function ss(){const n=ee(null);return re(()=>n.current?.showModal(),[]),n}function as(){hr.value=void 0}function Pl(){const n=ss(),[t,r]=f(""),[s,a]=f([]),[i,o]=f(0),c=ee(null),l=ee(void 0);function d(){return l.current??=zr().catch(p=>{if(!(p instanceof j))throw p;return[]}),l.current}re(()=>{const p=new AbortController,m=setTimeout(()=>{Il(t,d,p.signal).then(b=>{p.signal.aborted||(a(b),o(0))},b=>{if(!p.signal.aborted&&(a([]),!(b instanceof j)))throw b})},t?Nl:0);return()=>{clearTimeout(m),p.abort()}},[t]),re(()=>{c.current?.children[i]?.scrollIntoView({block:"nearest"})},[i]);function u(p){p&&(n.current?.close(),p.run())}function h(p){const b={ArrowDown:1,ArrowUp:-1}[p.key];b!==void 0&&s.length>0?(p.preventDefault(),o((i+b+s.length)%s.length)):p.key==="Enter"&&(p.preventDefault(),u(s[i]))}return e("dialog",{ref:n,class:"palette","aria-label":hn.goTo,onClose:as,children:[e("input",{type:"text",class:"code",role:"combobox","aria-label":hn.goTo,"aria-expanded":s.length>0,"aria-controls":"commands","aria-activedescendant":s.length>0?`command-${i}`:void 0,autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:M.placeholder,value:t,onInput:p=>r(p.currentTarget.value),onKeyDown:h}),e("ul",{class:"options",id:"commands",role:"listbox","aria-label":M.matches,ref:c,children:s.map((p,m)=>e("li",{id:`command-${m}`,role:"option","aria-selected":m===i,onClick:()=>u(p),children:[e("span",{class:"name",children:p.name}),e("span",{class:"hint",children:p.hint})]},p.name+p.hint))}),s.length===0&&e("p",{class:"hint",children:M.nothing})]})}function Wl(){const n=ss();return e("dialog",{ref:n,class:"palette","aria-labelledby":"shortcuts-title",onClose:as,children:[e("h2",{id:"shortcuts-title",children:M.shortcuts}),e("dl",{class:"shortcuts",children:zs.map(([t,r])=>e("div",{children:[e("dt",{children:t.split(" ").map(s=>e("kbd",{children:s},s))}),e("dd",{children:r})]},t))}),e("div",{class:"actions",children:e("button",{type:"button",class:"quiet",onClick:()=>n.current?.close(),children:C.close})})]})}const Fl=Object.freeze(Object.defineProperty({__proto__:null,DataPage:Ga,HistoryPage:Gi,LivePage:lo,ModelPage:To,ObjectPage:Do,Palette:Ll,QueriesPage:dc,ServicePage:pl,TestsPage:vl,loadExample:sa},Symbol.toStringTag,{value:"Module"}));export{Fl as p,pn as s};
