import{r as E,w as $,l as nt,a as Le,b as H,c as Te,d as k,R as g,e as m,T as L,f as e,C as I,g as O,h as C,A as D,F as T,s as ce,i as re,k as de,j as F,m as Y,n as B,o as Bn,u as R,B as A,$ as v,E as Ce,p as Jt,q as ue,t as Ht,v as Z,x as Gn,S as Kt,O as ae,y as S,z as N,D as U,G as Se,H as z,I as rt,J as he,N as ee,K as M,L as q,M as xe,P as pe,Q as Vt,U as Yt,V as Ie,W as Qt,X as Re,Y as De,Z as Un,_ as zn,a0 as Jn,a1 as Zt,a2 as Hn,a3 as Kn,a4 as V,a5 as Vn,a6 as Yn,a7 as Xt,a8 as en,a9 as Ve,aa as Qn,ab as ft,ac as Zn,ad as Xn,ae as bt,af as er,ag as tr,ah as nr,ai as ye,aj as rr,ak as ar,al as sr,am as ir,an as or,ao as cr,ap as lr,aq as dr,ar as ur,as as hr,at as pr,au as tn,av as mr}from"./console.js";const fr=`name: agents with tasks of their own, whose approvals start empty, and which delegate parts of them
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
`,br=`version 1.0

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
`,vr=`name: repositories of an organization, its nested teams, outside collaborators and protected branches
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
`,wr=`version 1.0

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
`,gr=`name: documents in folders, shared with people, groups and everyone, and kept from some
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
`,yr=`// lint: ignore direct_permission
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
`,kr=`name: two companies in one application, with roles that mean something only within one of them
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
`,jr=`version 1.0

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
`,Tr=/warrants:\n((?:\s+- .*\n)+)/,Cr=/- '?(.*?)'?$/gm,Sr=/^(.*?)(?:\[(.*)\])?$/,xr={"document-sharing":{model:yr,tests:gr},"multi-tenant-rbac":{model:jr,tests:kr},"code-hosting":{model:wr,tests:vr},agents:{model:br,tests:fr}};async function Or(t,n){const{model:r,tests:a}=xr[t],{objectTypes:s}=await E("v2/model/convert",{text:r,accept:"application/json"});n&&!s.some(({type:c})=>c==="user")&&s.unshift({type:"user",relations:{}}),await $("v2/object-types",{method:"PUT",query:n?{replace:"true"}:{},body:s});const[,i=""]=Tr.exec(a)??[],o=[...i.matchAll(Cr)].map(([,c=""])=>Ar(c));await $("v2/writes",{body:{create:{warrants:o}}}),await nt()}function Ar(t){const[,n="",r]=Sr.exec(t)??[],a=Le(n);if(!a)throw new Error(`the example has a warrant that cannot be read: ${t}`);return r?{...a,policy:r}:a}const Rr=1e3,Ye=1e4;async function at(t,n=Ye){const r=[];let a;do{const s=await t({limit:Rr,nextCursor:a});r.push(...s.results),a=s.nextCursor}while(a&&r.length<n);return{rows:r.slice(0,n),isCut:a!==void 0||r.length>n}}function Er(t){return t.map(n=>n.map($r).join(",")).join(`\r
`)+`\r
`}function $r(t){const n=/^(?:\s*[=+\-@＝＋－＠]|[\t\r\n])/.test(t)?`'${t}`:t;return/[",\r\n]/.test(n)?`"${n.replaceAll('"','""')}"`:n}function Ir(t){const n=t.map(r=>[r.objectType,r.objectId+(r.subjectRelation?`#${r.subjectRelation}`:""),r.relation,String(r.isImplicit),r.warrant?H(r.warrant):""]);return[["type","id","relation","implicit","warrant"],...n]}function Nr(t){const n=t.map(r=>[k(r),r.meta?JSON.stringify(r.meta):"",r.createdAt??""]);return[["object","meta","created"],...n]}function Mr(t){const n=t.map(r=>[Te(r.subject),r.relation,k(r),r.policy??"",r.startsAt??"",r.expiresAt??"",r.createdAt??""]);return[["subject","relation","object","policy","from","until","created"],...n]}function qr(t){return Array.from(t.rows,r=>Array.from(r.cells).filter(a=>!a.matches(".row-actions, .actions-heading"))).map(r=>r.map(_r))}function _r(t){if(t.dataset.text!==void 0)return t.dataset.text;const n=t.cloneNode(!0);for(const r of n.querySelectorAll("time"))r.textContent=r.dateTime;return(n.textContent??"").replace(/\s+/g," ").trim()}function ke(t,n,r){const a=URL.createObjectURL(new Blob([r],{type:n})),s=document.createElement("a");s.href=a,s.download=t,s.click(),setTimeout(()=>URL.revokeObjectURL(a),0)}const Lr=500,Dr=/^(.*?)\[(.*)\]$/s;function Wr(t){if(t.trimStart().startsWith("[")){const n=vt(t,0);if(Array.isArray(n))return n.map((r,a)=>wt(r,a+1))}return t.split(`
`).flatMap((n,r)=>{const a=n.trim();return a===""||a.startsWith("#")?[]:a.startsWith("{")?[wt(vt(a,r+1),r+1)]:[{number:r+1,warrant:nn(a,r+1)}]})}function vt(t,n){try{return JSON.parse(t)}catch{throw Ne(n,"it is not valid JSON")}}function nn(t,n){const[,r=t,a]=Dr.exec(t)??[],s=Le(r);if(!s)throw Ne(n,"write a warrant like document:plan#viewer@user:ann, or as JSON");return a?{...s,policy:a}:s}function wt(t,n){if(typeof t=="string")return{number:n,warrant:nn(t,n)};if(typeof t=="object"&&t!==null){if("relation"in t)return{number:n,warrant:t};if("objectId"in t)return{number:n,object:t};if("relations"in t)throw Ne(n,"it is an object type; the page Model writes those")}throw Ne(n,"it is neither a warrant nor an object")}function Ne(t,n){return new g(400,"invalid",t>0?`Line ${t}: ${n}`:n)}async function Pr(t,n,r){const a={done:0,of:t.length,created:0,unchanged:0};for(n({...a});a.done<t.length&&!r();){const s=t.slice(a.done,a.done+Lr),i=await Fr(s);a.done+=s.length,a.created+=i.created,a.unchanged+=i.unchanged,n({...a})}return a}async function Fr(t){const n=t.filter(s=>s.warrant),r=t.filter(s=>s.object),a={...n.length>0?{warrants:n.map(s=>s.warrant)}:{},...r.length>0?{objects:r.map(s=>s.object)}:{}};try{return await $("v2/writes",{body:{create:a}})}catch(s){if(!(s instanceof g))throw s;const i=/(warrants|objects)\[(\d+)\]/.exec(s.parameter),o=i&&(i[1]==="warrants"?n:r)[Number(i[2])];throw o?new g(s.status,s.code,`Line ${o.number}: ${s.message}`):s}}const Br=67108864;function Gr({onDone:t,onClose:n}){const[r,a]=m(),[s,i]=m(),o=L(!1);async function c(){if(!r)throw new g(400,"invalid","Choose a file first");if(r.size>Br)throw new g(400,"invalid","The file is larger than 64 MiB; the command magistrate import takes files of any size");i(void 0);const l=await Pr(Wr(await r.text()),i,()=>o.current),d=l.done<l.of?`Stopped after ${l.done} of ${l.of} lines`:`Imported ${l.of} lines`;t(`${d}: ${l.created} were new, ${l.unchanged} were there already.`)}return e(I,{title:"Import a file",action:"Import",onConfirm:c,onClose:()=>{o.current=!0,n()},children:[e("div",{class:"field",children:[e("label",{for:"import-file",children:"File"}),e("input",{id:"import-file",type:"file",required:!0,onChange:l=>a(l.currentTarget.files?.[0])}),e("span",{class:"hint",children:["A line for each warrant, ",e("code",{children:"document:plan#viewer@user:ann"}),", or JSON: warrants and objects as the lists of the API have them. 500 lines are written at a time, all or none. If a line is wrong, correct it and import the file again: what is there already stays as it is."]})]}),s&&e("div",{class:"field",children:[e("label",{for:"import-progress",children:[s.done," of ",s.of," lines"]}),e("progress",{id:"import-progress",max:s.of,value:s.done})]})]})}function me({page:t}){const{page:n,parameters:r}=O.value;return!t.prevCursor&&!t.nextCursor?null:e("nav",{class:"pager","aria-label":"Pages",children:[e("button",{type:"button",class:"quiet",disabled:!t.prevCursor,onClick:()=>C(n,{...r,prev:t.prevCursor,next:void 0}),children:"Previous"}),e("button",{type:"button",class:"quiet",disabled:!t.nextCursor,onClick:()=>C(n,{...r,next:t.nextCursor,prev:void 0}),children:"Next"})]})}function rn({label:t,table:n,readLines:r}){const[a,s]=m(),[i,o]=m(""),[c,l]=m(!1),d=L(void 0);D(()=>()=>d.current?.abort(),[]);async function u(){return r?(d.current=new AbortController,r(d.current.signal)):{lines:n.current?qr(n.current):[],isCut:!1}}async function h(){if(!c){s(void 0),o(r?"Reading all rows…":""),l(!0);try{const{lines:p,isCut:f}=await u();ke(`${t.toLowerCase().replace(/[^a-z0-9]+/g,"-")}.csv`,"text/csv",Er(p));const b=(p.length-1).toLocaleString();o(f?`Saved the first ${b} rows: an export has no more.`:`Saved ${b} rows.`)}catch(p){if(d.current?.signal.aborted)return;if(!(p instanceof g))throw p;o(""),s(p)}finally{l(!1)}}}return e("div",{class:"export",children:[e("span",{class:"hint",role:"status",children:i}),e("button",{type:"button",class:"quiet","aria-disabled":c,onClick:h,children:["Export CSV",e("span",{class:"sr",children:[" of ",t]})]}),a&&e(T,{fault:a})]})}function se({label:t,headings:n,hasActions:r,readLines:a,children:s}){const i=L(null);return e("div",{class:"exported",children:[e("div",{class:"scrolled",tabIndex:0,role:"region","aria-label":t,children:e("table",{ref:i,children:[e("thead",{children:e("tr",{children:[n.map(o=>e("th",{scope:"col",children:o},o)),r&&e("th",{scope:"col",class:"actions-heading",children:e("span",{class:"sr",children:"Actions"})})]})}),e("tbody",{children:s})]})}),e(rn,{label:t,table:i,readLines:a})]})}function G({time:t,isExact:n=!1}){return e("time",{dateTime:t,title:t,children:n?ce(t):re(t)})}const Ur=1e3,le=1e3,zr=5;function We({objectType:t,objectId:n}){return`v2/objects/${encodeURIComponent(t)}/${encodeURIComponent(n)}`}async function an(t,n,r){const a=await Y(t,{query:n,signal:r});return{value:await a.json(),token:a.headers.get("Warrant-Token")??""}}function Me(t,n){return an(We(t),{},n)}async function qe(t,n){const r=new Map,{objectType:a,objectId:s}=t;let i;for(const c of[{objectType:a,objectId:s},{subjectType:a,subjectId:s}]){let l;do{const d={...c,limit:Ur,nextCursor:l,asOf:i},u=await an("v2/warrants",d,n);i??=u.token;for(const h of u.value.results)Jr(h,t)&&r.set(F(h),h);l=u.value.nextCursor}while(l&&r.size<=le)}const o=[...r.values()];return{value:{warrants:o.slice(0,le),isCut:o.length>le},token:i??""}}function Jr({objectType:t,objectId:n,subject:r},a){return t===a.objectType&&n===a.objectId||r.objectType===a.objectType&&r.objectId===a.objectId}async function Pe(t,n,r,a){let{token:s}=t;for(let i=1;;i+=1){try{await $("v2/writes",{body:{preconditions:[{revision:s}],...r}});return}catch(c){if(!(c instanceof g)||c.code!=="precondition_failed"||i===zr)throw c}const o=await n();if(JSON.stringify(o.value)!==JSON.stringify(t.value))throw new g(409,"changed",a);s=o.token}}function Hr(t,n,r){const{objectType:a,meta:s}=t,i={objectType:a,objectId:t.objectId},o=l=>l.objectType===a&&l.objectId===i.objectId?{...l,objectId:r}:l,c=n.map(l=>{const{startsAt:d,expiresAt:u}=l,h=o(de(l));return{...h,subject:o(h.subject),...d?{startsAt:d}:{},...u?{expiresAt:u}:{}}});return{delete:{warrants:n.map(de),objects:[i]},create:{objects:[{objectType:a,objectId:r,...s?{meta:s}:{}}],warrants:c}}}function sn(t){if(!t.trim())return{};try{const n=JSON.parse(t);if(typeof n=="object"&&n!==null&&!Array.isArray(n))return n}catch(n){throw new g(400,"invalid",`The meta is not JSON: ${n instanceof Error?n.message:""}`)}throw new g(400,"invalid",'The meta must be a JSON object, as in {"name": "Roadmap"}')}function st(t){return`Somebody else has just changed ${k(t)} or a warrant that names it. Nothing was written; look at it again`}const gt=le/2-1,Ge=5;function on({text:t,onInput:n}){return e("div",{class:"field",children:[e("label",{for:"meta",children:"Meta"}),e("textarea",{id:"meta",class:"code",rows:Math.min(Math.max(t.split(`
`).length,4),14),spellcheck:!1,placeholder:'{"name": "Roadmap"}',"aria-describedby":"meta-hint",value:t,onInput:r=>n(r.currentTarget.value)}),e("span",{class:"hint",id:"meta-hint",children:"A JSON object. It is shown and searched, and decides nothing."})]})}function Kr({type:t="",onClose:n}){const[r,a]=m({type:t,id:"",meta:""}),s=L(void 0);async function i(){const o=sn(r.meta),c=r.type.trim(),l=r.id.trim();if(l){const d={objectType:c,objectId:l};await Vr(d,o),s.current=d}else s.current=await $("v2/objects",{body:{objectType:c,meta:o}})}return e(I,{title:"New object",action:"Create",isReady:r.type.trim()!=="",onConfirm:i,onClose:()=>{n(),s.current&&C("object",{name:k(s.current)})},children:[e(B,{label:"Type",placeholder:"document",value:r.type,complete:Bn,onInput:o=>a(c=>({...c,type:o})),isRequired:!0}),e("div",{class:"field",children:[e("label",{for:"object-id",children:"Id"}),e("input",{id:"object-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"roadmap","aria-describedby":"object-id-hint",value:r.id,onInput:o=>a({...r,id:o.currentTarget.value})}),e("span",{class:"hint",id:"object-id-hint",children:"Leave it empty for an id that the service makes."})]}),e(on,{text:r.meta,onInput:o=>a({...r,meta:o})})]})}async function Vr(t,n){try{await $("v2/writes",{body:{preconditions:[{absent:t}],create:{objects:[{...t,meta:n}]}}})}catch(r){throw!(r instanceof g)||r.code!=="precondition_failed"?r:new g(400,"exists",`${k(t)} exists already`)}}function Yr({object:t,onDone:n,onClose:r}){const[a,s]=m(),i=R(d=>Me(t,d),[k(t)]),o=i.value,c=a??(o?JSON.stringify(o.value.meta??{},null,2):"");async function l(){if(!o)return;const d={create:{objects:[{...t,meta:sn(c)}]}};await Pe(o,()=>Me(t),d,st(t)),n(`Saved the meta of ${k(t)}.`)}return e(I,{title:`Meta of ${k(t)}`,action:"Save",isReady:o!==void 0,onConfirm:l,onClose:r,children:[i.fault&&e(T,{fault:i.fault,retry:i.reload}),!o&&!i.fault&&e(A,{what:"Reading the object"}),o&&e(on,{text:c,onInput:s})]})}function Qr({object:t,onDone:n,onClose:r}){const a=k(t),s=R(c=>qe(t,c),[a]),i=s.value;async function o(){i&&(i.value.isCut?await $(We(t),{method:"DELETE"}):await Pe(i,()=>qe(t),{delete:{objects:[t]}},st(t)),n(`Deleted ${a}.`))}return e(I,{title:`Delete ${a}?`,action:"Delete",isDangerous:!0,isReady:i!==void 0,onConfirm:o,onClose:r,children:[s.fault&&e(T,{fault:s.fault,retry:s.reload}),!i&&!s.fault&&e(A,{what:"Finding what ends with it"}),i&&e(v,{children:[e(cn,{warrants:i.value.warrants,isCut:i.value.isCut,verb:"delete"}),i.value.isCut?e("p",{children:"These are too many to say who loses access."}):i.value.warrants.length>0&&e(Ce,{proposal:{create:[],delete:i.value.warrants.map(de)}}),e("p",{class:"hint",children:["Access through a wildcard, such as ",t.objectType,":*, ends with it, too. The history keeps all of it."]})]})]})}const Zr={delete:"with it",move:"with it, and are made anew for the new id"};function cn({warrants:t,isCut:n,verb:r}){if(t.length===0)return e("p",{children:"No warrant names it."});const a=n?`More than ${t.length.toLocaleString()}`:t.length.toLocaleString();return e(v,{children:[e("p",{children:[a," ",t.length===1?"warrant names it and ends":"warrants name it and end"," ",Zr[r],":"]}),e("ul",{class:"changes",children:[t.slice(0,Ge).map(s=>e("li",{children:[e("span",{class:`verb ${r}`,children:r})," ",e("code",{children:F(s)})]},F(s))),t.length>Ge&&e("li",{class:"hint",children:["and ",(t.length-Ge).toLocaleString()," more"]})]})]})}function Xr({object:t,onClose:n}){const r=k(t),[a,s]=m(t.objectId),[i,o]=m(!1),c=L(!1),l=R(w=>yt(t,w),[r]),d=l.value,u=a.trim(),h=d!==void 0&&d.value.naming.warrants.length>gt,p=d&&Hr(d.value.stored,d.value.naming.warrants,u),f=u!==""&&u!==t.objectId;async function b(){if(!d||!p)return;const w={objectType:t.objectType,objectId:u};await ea(w),await Pe(d,()=>yt(t),p,st(t)),c.current=!0}return e(I,{title:`Rename ${r}`,action:"Rename",isReady:f&&d!==void 0&&!h,onConfirm:b,onClose:()=>{n(),c.current&&C("object",{name:`${t.objectType}:${u}`})},children:[l.fault&&e(T,{fault:l.fault,retry:l.reload}),!d&&!l.fault&&e(A,{what:"Finding what names it"}),e("div",{class:"field",children:[e("label",{for:"new-id",children:"New id"}),e("input",{id:"new-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,required:!0,value:a,onInput:w=>{s(w.currentTarget.value),o(!1)}})]}),d&&h&&e("p",{children:["More than ",gt," warrants name it, too many for one write. Create the object with its new id, copy the warrants with"," ",e("code",{children:"magistrate export"})," and ",e("code",{children:"magistrate import"}),", and delete this one."]}),d&&p&&!h&&e(v,{children:[e(cn,{warrants:d.value.naming.warrants,isCut:!1,verb:"move"}),i?e(Ce,{proposal:{create:p.create.warrants,delete:p.delete.warrants}}):d.value.naming.warrants.length>0&&e("button",{type:"button",class:"quiet",disabled:!f,onClick:()=>o(!0),children:"What would it change?"}),e("p",{class:"hint",children:["It is one write: the object with its meta, and every warrant, all or none. Applications that know it by its old id find nothing any more.",d.value.naming.warrants.some(w=>w.policy?.includes("expiresIn"))&&" Conditions with expiresIn count from now, when the warrants are made anew."]})]})]})}async function yt(t,n){const r=await Me(t,n),a=await qe(t,n);return{value:{stored:r.value,naming:a.value},token:r.token}}async function ea(t){try{await Me(t)}catch(n){if(n instanceof g&&n.status===404)return;throw n}throw new g(400,"exists",`${k(t)} exists already: choose an id that is free`)}const ta=Ht();function ln({object:t="",subject:n="",onDone:r,onClose:a}){const[s,i]=m({object:t,relation:"",subject:n,policy:"",expires:""}),[o,c]=m(),l=p=>f=>{c(void 0),i(b=>({...b,[p]:f}))};function d(){const p=Z(s.object),f=Gn(s.subject);if(!p)throw new g(400,"invalid","The object must be written type:id, as in document:roadmap");if(!f)throw new g(400,"invalid","The subject must be written type:id or type:id#relation");const b={...p,relation:s.relation.trim(),subject:f};return s.policy.trim()&&(b.policy=s.policy.trim()),s.expires&&(b.expiresAt=new Date(s.expires).toISOString()),b}async function u(){const p=d();await $("v2/warrants",{body:p}),r(`Created ${H(p)}.`)}function h(){try{c(d())}catch(p){if(!(p instanceof g))throw p;c(void 0)}}return e(I,{title:"New warrant",action:"Create",onConfirm:u,onClose:a,children:[e(B,{label:"Subject",placeholder:"user:kim or group:eng#member",value:s.subject,complete:Jt,onInput:l("subject"),isRequired:!0}),e(B,{label:"Relation",placeholder:"viewer",value:s.relation,complete:ta,onInput:l("relation"),isRequired:!0}),e(B,{label:"Object",placeholder:"document:roadmap",value:s.object,complete:ue,onInput:l("object"),isRequired:!0}),e("details",{children:[e("summary",{children:"Conditions"}),e("div",{class:"field",children:[e("label",{for:"policy",children:"Policy"}),e("input",{id:"policy",type:"text",class:"code",placeholder:'network == "office"',value:s.policy,onInput:p=>l("policy")(p.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"expires",children:"Expires at"}),e("input",{id:"expires",type:"datetime-local",value:s.expires,onInput:p=>l("expires")(p.currentTarget.value)})]})]}),o?e(Ce,{proposal:{create:[o],delete:[]}}):e("button",{type:"button",class:"quiet",onClick:h,disabled:!s.object||!s.relation||!s.subject,children:"What would it change?"})]})}function na({warrant:t,onDone:n,onClose:r}){const a=de(t);async function s(){await $("v2/warrants",{method:"DELETE",body:a}),n(`Deleted ${H(t)}.`)}return e(I,{title:"Delete this warrant?",action:"Delete",isDangerous:!0,onConfirm:s,onClose:r,children:[e("ul",{class:"changes",children:e("li",{children:[e("span",{class:"verb delete",children:"delete"})," ",e("code",{children:H(t)})]})}),e(Ce,{proposal:{create:[],delete:[a]}})]})}function dn({warrants:t,onDone:n,readLines:r}){const[a,s]=m();return e(v,{children:[e(se,{label:"Warrants",headings:["Subject","Relation","Object","Condition","Created"],hasActions:!0,readLines:r,children:t.map(i=>e("tr",{children:[e("td",{children:e(Kt,{subject:i.subject})}),e("td",{children:e("b",{children:i.relation})}),e("td",{children:e(ae,{object:i})}),e("td",{children:e(ra,{warrant:i})}),e("td",{class:"time",children:i.createdAt&&e(G,{time:i.createdAt})}),e("td",{class:"row-actions",children:[!i.subject.relation&&i.subject.objectId!=="*"&&i.objectId!=="*"&&e("a",{href:S("why",{subject:k(i.subject),relation:i.relation,object:k(i)}),children:["Why",e("span",{class:"sr",children:[" ",H(i)]})]}),e(N,{needs:{scope:"write"},class:"quiet",onClick:()=>s(i),children:["Delete…",e("span",{class:"sr",children:[" ",H(i)]})]})]})]},H(i)+(i.policy??"")))}),a&&e(na,{warrant:a,onDone:n,onClose:()=>s(void 0)})]})}function ra({warrant:t}){return e(v,{children:[t.policy&&e("code",{children:t.policy}),t.startsAt&&e("span",{class:"hint",children:["from ",e(G,{time:t.startsAt})," "]}),t.expiresAt&&e("span",{class:"hint",children:["until ",e(G,{time:t.expiresAt})]})]})}const un=50,fe={scope:"write"},it={next:void 0,prev:void 0};function aa(){const t=O.value.parameters.show==="warrants",{open:n}=O.value.parameters,[r,a]=m();D(()=>{n&&(U.value===void 0&&!Se(fe)&&a(n),z({open:void 0}))},[n]);const[s,i]=m("");return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Data"}),e("nav",{class:"tabs","aria-label":"Kinds of data",children:[e("a",{href:S("data"),"aria-current":t?void 0:"page",children:"Objects"}),e("a",{href:S("data",{show:"warrants"}),"aria-current":t?"page":void 0,children:"Warrants"})]}),e("div",{class:"actions",children:[e(rt,{needs:fe}),e(N,{needs:fe,class:"quiet",onClick:()=>a("file"),children:"Import a file…"}),e(N,{needs:fe,class:"quiet",onClick:()=>a("object"),children:"New object"}),e(N,{needs:fe,class:"primary",onClick:()=>a("warrant"),children:[e(he,{name:"plus"}),"New warrant"]})]})]}),s&&e(ee,{children:e("p",{children:s})}),t?e(la,{turn:s,onDone:i}):e(sa,{turn:s}),r==="object"&&e(Kr,{type:O.value.parameters.type,onClose:()=>a(void 0)}),r==="warrant"&&e(ln,{onDone:i,onClose:()=>a(void 0)}),r==="file"&&e(Gr,{onDone:i,onClose:()=>a(void 0)})]})}function sa({turn:t}){const{type:n=M.value?.[0],q:r,sort:a,order:s,next:i,prev:o,at:c}=O.value.parameters,l=(h,p)=>{const f={objectType:n,q:r,sortBy:a,sortOrder:s,asOf:c,...h};return E("v2/objects",{query:f,signal:p})},d=async h=>{const{rows:p,isCut:f}=await at(b=>l(b,h));return{lines:Nr(p),isCut:f}},u=R(h=>l({limit:un,nextCursor:i,prevCursor:o},h),[n,r,a,s,i,o,c,t]);return e(v,{children:[e("form",{class:"filters",onSubmit:h=>h.preventDefault(),children:[e(da,{label:"Type",name:"type",value:n}),e("div",{class:"field",children:[e("label",{for:"q",children:"Contains"}),e("input",{id:"q",type:"search",value:r??"",placeholder:"a part of the id or the meta",onChange:h=>z({q:h.currentTarget.value||void 0,...it})})]}),e(hn,{sorts:{objectId:"Id",createdAt:"Created"}})]}),u.fault&&e(T,{fault:u.fault,retry:u.reload}),!u.value&&!u.fault&&e(A,{what:"Reading objects"}),u.value?.results.length===0&&e(ia,{isFiltered:!!(n||r),onLoaded:u.reload}),u.value&&u.value.results.length>0&&e(v,{children:[e(oa,{objects:u.value.results,readLines:d}),e(me,{page:u.value})]})]})}function ia({isFiltered:t,onLoaded:n}){return t?e(q,{title:"No object has all of this."}):pe.value?.length===0?e(q,{title:"There are no objects yet.",children:[e("p",{children:["First, a ",e("a",{href:S("model"),children:"model"})," says which types of objects there are. Write one, or start with an example: documents in folders, shared with people and groups."]}),e(Vt,{onDone:n})]}):e(q,{title:"There are no objects yet.",children:e("p",{children:"A warrant creates the objects that it names. Start with a new warrant, or import a file of warrants and objects."})})}function oa({objects:t,readLines:n}){return e(se,{label:"Objects",headings:["Object","Meta","Created"],readLines:n,children:t.map(r=>e("tr",{children:[e("td",{children:e(ae,{object:r})}),e("td",{class:"meta",children:Yt(r.meta)}),e("td",{class:"time",children:e(G,{time:r.createdAt})})]},k(r)))})}const ca=Ht();function la({turn:t,onDone:n}){const r=O.value.parameters,{object:a="",relation:s="",subject:i="",order:o,next:c,prev:l,at:d}=r,[u,h]=m({object:a,relation:s,subject:i}),p=(y,_)=>{const W=Z(a),P=Z(i),Oe={objectType:W?.objectType??(a.replace(/:$/,"")||M.value?.[0]),objectId:W?.objectId,relation:s,subjectType:P?.objectType??(i.replace(/:$/,"")||void 0),subjectId:P?.objectId,sortOrder:o,asOf:d,...y};return E("v2/warrants",{query:Oe,signal:_})},f=async y=>{const{rows:_,isCut:W}=await at(P=>p(P,y));return{lines:Mr(_),isCut:W}},b=R(y=>p({limit:un,nextCursor:c,prevCursor:l},y),[a,s,i,o,c,l,d,t]),w=y=>{C("data",{show:"warrants",order:o,...u,...y})},j=!!(a||s||i);return e(v,{children:[e("form",{class:"filters",onSubmit:y=>{y.preventDefault(),w({})},children:[e(B,{label:"Subject",placeholder:"any",value:u.subject,complete:ue,onInput:y=>h({...u,subject:y}),onChoose:y=>w({subject:y})}),e(B,{label:"Relation",placeholder:"any",value:u.relation,complete:ca,onInput:y=>h({...u,relation:y}),onChoose:y=>w({relation:y})}),e(B,{label:"Object",placeholder:M.value?`any ${M.value[0]}`:"any",value:u.object,complete:ue,onInput:y=>h({...u,object:y}),onChoose:y=>w({object:y})}),e(hn,{sorts:{createdAt:"Created"}}),e("button",{type:"submit",class:"quiet",children:"Filter"})]}),b.fault&&e(T,{fault:b.fault,retry:b.reload}),!b.value&&!b.fault&&e(A,{what:"Reading warrants"}),b.value?.results.length===0&&e(q,{title:j?"No warrant has all of this.":"There are no warrants yet.",children:e("p",{children:j?"Leave a field empty to see more. This lists what is written; what rules give is under Queries.":"A warrant gives a subject a relation on an object, as in: user:kim is viewer of document:roadmap."})}),b.value&&b.value.results.length>0&&e(v,{children:[e(dn,{warrants:b.value.results,onDone:n,readLines:f}),e(me,{page:b.value})]})]})}function da({label:t,name:n,value:r}){const a=M.value??xe();return e("div",{class:"field",children:[e("label",{for:n,children:t}),e("select",{id:n,value:r??"",onChange:s=>z({[n]:s.currentTarget.value||void 0,...it}),children:[!M.value&&e("option",{value:"",children:"all"}),r&&!a.includes(r)&&e("option",{value:r,children:r}),a.map(s=>e("option",{value:s,children:s},s))]})]})}function hn({sorts:t}){const{sort:n=Object.keys(t)[0],order:r="ASC"}=O.value.parameters;return e("div",{class:"field",children:[e("label",{for:"order",children:"Order"}),e("select",{id:"order",value:`${n} ${r}`,onChange:a=>{const[s,i]=a.currentTarget.value.split(" ");z({sort:s,order:i,...it})},children:Object.entries(t).flatMap(([a,s])=>[e("option",{value:`${a} ASC`,children:[s,", ascending"]},`${a} ASC`),e("option",{value:`${a} DESC`,children:[s,", descending"]},`${a} DESC`)])})]})}function ua({count:t,onSubmit:n,children:r}){const[a,s]=m(!1);return e("form",{class:a?"filters":"filters folded",onSubmit:i=>{i.preventDefault(),n?.()},children:[e("button",{type:"button",class:"quiet unfold","aria-expanded":a,onClick:()=>s(!a),children:a?"Hide the filters":t>0?`Filters (${t})`:"Filters"}),r]})}const ha=[["history","Past changes"],["live","Live"]];function pn(){return e("nav",{class:"tabs","aria-label":"Changes",children:ha.map(([t,n])=>e("a",{href:S(t),"aria-current":t===O.value.page?"page":void 0,children:n},t))})}const kt=2,pa=4e6;function mn(t,n){const[r,a]=[t.split(`
`),n.split(`
`)];let s=0;for(;s<r.length&&s<a.length&&r[s]===a[s];)s+=1;let i=0;for(;i<r.length-s&&i<a.length-s&&r.at(-1-i)===a.at(-1-i);)i+=1;const o=ma(r.slice(s,r.length-i),a.slice(s,a.length-i));if(o===void 0)return;const c=l=>({sign:" ",text:l});return fa([...r.slice(0,s).map(c),...o,...r.slice(r.length-i).map(c)])}function ma(t,n){const r=n.length+1;if((t.length+1)*r>pa)return;const a=new Uint32Array((t.length+1)*r),s=(l,d)=>a[l*r+d]??0;for(let l=t.length-1;l>=0;l-=1)for(let d=n.length-1;d>=0;d-=1){const u=Math.max(s(l+1,d),s(l,d+1));a[l*r+d]=t[l]===n[d]?s(l+1,d+1)+1:u}const i=[];let[o,c]=[0,0];for(;o<t.length||c<n.length;){const[l,d]=[t[o],n[c]];l!==void 0&&l===d?(i.push({sign:" ",text:l}),[o,c]=[o+1,c+1]):l!==void 0&&(d===void 0||s(o+1,c)>=s(o,c+1))?(i.push({sign:"-",text:l}),o+=1):(i.push({sign:"+",text:d??""}),c+=1)}return i}function fa(t){const n=new Set;for(const[r,{sign:a}]of t.entries())if(a!==" ")for(let s=r-kt;s<=r+kt;s+=1)n.add(s);return t.flatMap((r,a)=>n.has(a)?[r]:n.has(a-1)&&t.slice(a).some(s=>s.sign!==" ")?[{sign:" ",text:""}]:[])}const Fe="text/plain",ba=100;async function je(t,n){const r=await Y("v2/model",{accept:Fe,query:{asOf:n},signal:t});return{text:await r.text(),token:r.headers.get("Service-Token")??""}}async function va(t){return(await Y("v2/model/convert",{text:t,accept:Fe})).text()}const wa=/299 - "([^"]*)"/g;async function ga(t,n){const a=await Y("v2/model/convert",{text:t,accept:Fe,query:n?{leaveOut:"true"}:{}}),s=[...(a.headers.get("Warning")??"").matchAll(wa)].map(([,i=""])=>i);return{text:await a.text(),notes:s}}async function ya(t,n){const r=ka(await E("v2/model/convert",{text:t,accept:"application/json",signal:n})),[a,s,i,o]=await Promise.all([je(n),E("v2/model/plan",{text:t,signal:n}),ja(r,n),Y("v2/model/convert",{body:r,accept:Fe,signal:n}).then(c=>c.text())]);return{newest:a,plan:s,access:i,lines:mn(a.text,o)}}function ka({objectTypes:t,policies:n}){const r=(a,s)=>+(a>s)-+(a<s);return{objectTypes:t.toSorted((a,s)=>r(a.type,s.type)),policies:n.toSorted((a,s)=>r(a.name,s.name))}}async function ja(t,n){try{const r={proposal:{...t,replace:!0},limit:ba};return await E("v2/difference",{body:r,signal:n})}catch(r){if(r instanceof g&&r.status===400)return r;throw r}}async function Ta(t,n,r){await $("v2/model",{method:"PUT",text:t,query:r?{keepExisting:"true"}:{},headers:{"If-Match":`"${n}"`}})}function fn({warrants:t={}}){return[...t.created??[],...t.deleted??[],...t.expired??[]]}function Ca({objects:t={}}){return[...t.created??[],...t.updated??[],...t.deleted??[]]}function Sa(t,n,r,a){const s={actions:[],kept:[]};for(const o of fn(t))xa(o,n,r,a,s);const i=new Set(s.actions.flatMap(({verb:o,what:c})=>o==="delete"&&"warrant"in c?[F(c.warrant)]:[]));for(const o of t.objects?.created??[])Oa(o,r,i,s);for(const o of t.objects?.updated??[])jt(o,!1,n,r,s);for(const o of t.objects?.deleted??[])jt(o,!0,n,r,s);return s}function xa(t,n,r,a,{actions:s,kept:i}){const o=F(t);if(s.some(({what:u})=>"warrant"in u&&F(u.warrant)===o))return;const c=n.warrants.get(o),l=r.warrants.get(o),d=c?.expiresAt!==void 0&&Date.parse(c.expiresAt)<=a;if(c&&d)i.push({name:o,reason:"would have expired by now"});else if(c&&!l)s.push({verb:"create",what:{warrant:Ue(c)}});else if(c&&l&&!Tt(c,l))s.push({verb:"change",what:{warrant:Ue(c)},note:"to the time limits that it had"});else if(!c&&l){const u=Tt(t,l)?void 0:"its time limits were changed since";s.push({verb:"delete",what:{warrant:Ue(l)},note:u})}else i.push({name:o,reason:c?"exists again":"is deleted already"})}function Oa(t,n,r,{actions:a,kept:s}){const i=k(t),o=n.objects.get(i);o?bn(t,o)?n.naming.get(i)?.some(c=>!r.has(c))?s.push({name:i,reason:"is named by other warrants now"}):a.push({verb:"delete",what:{object:o}}):s.push({name:i,reason:"was changed since"}):s.push({name:i,reason:"is deleted already"})}function jt(t,n,r,a,{actions:s,kept:i}){const o=k(t),c=r.objects.get(o),l=a.objects.get(o);c&&(!l&&!n?i.push({name:o,reason:"does not exist any more"}):l?bn(c,l)?i.push({name:o,reason:"is as it was"}):s.push({verb:"change",what:{object:c},note:"to the meta that it had"}):s.push({verb:"create",what:{object:c}}))}function Ue(t){const{startsAt:n,expiresAt:r}=t;return{...de(t),...n?{startsAt:n}:{},...r?{expiresAt:r}:{}}}function Tt(t,n){return t.startsAt===n.startsAt&&t.expiresAt===n.expiresAt}function bn(t,n){return JSON.stringify(t.meta??{})===JSON.stringify(n.meta??{})}function vn(t,n){const r=o=>t.flatMap(c=>c.verb===o&&"warrant"in c.what?[c.what.warrant]:[]),a=o=>t.flatMap(c=>c.verb===o&&"object"in c.what?[c.what.object]:[]),s=new Set(r("delete").map(F)),i=a("delete").filter(o=>n.get(k(o))?.every(c=>s.has(c))??!0);return{delete:{warrants:r("delete").map(de),objects:i.map(({objectType:o,objectId:c})=>({objectType:o,objectId:c}))},create:{warrants:[...r("create"),...r("change")],objects:[...a("create"),...a("change")].map(({objectType:o,objectId:c,meta:l})=>({objectType:o,objectId:c,meta:l??{}}))}}}const Aa=8388608,wn=200,Ct=8,Ra=1e3,Ea=["access_granted","access_revoked"];async function $a(t,n){const r=Qt(t),a=[["v2/resource-events",void 0],...Ea.map(c=>["v2/access-events",c])],s=Re(t);return(await Promise.all(a.map(async([c,l])=>{for(const d of[r,r-1]){const h=await E(c??"",{query:{type:l,until:d,limit:100},signal:n}),p=h.results.find(f=>Re(f)<s);if(p||!h.nextCursor)return p}}))).filter(c=>c!==void 0).sort((c,l)=>Re(l)-Re(c))[0]?.token}async function Ia(t,n,r){const a=new AbortController,s=await Y("v2/watch",{query:{since:t},accept:"application/x-ndjson",signal:AbortSignal.any([r,a.signal])});try{return await Na(s,n)}finally{a.abort()}}async function Na(t,n){const r=t.body?.pipeThrough(new TextDecoderStream).getReader();let a="";for(let s=await r?.read();s&&!s.done;s=await r?.read()){a+=s.value;const i=a.split(`
`);a=i.pop()??"";for(const o of i){const c=JSON.parse(o);if(c.event==="revision"&&c.token===n)return c}if(a.length>Aa)throw ot()}throw new g(410,"gone","The stream of changes does not have this one any more")}function ot(){return new g(400,"too_large",`It changed more than can be reverted here, which is ${le.toLocaleString()} warrants and objects`)}async function St(t,n,r){const a=r??new AbortController().signal,s=await Ia(t,n,a),[i,o]=[fn(s),Ca(s)];if(i.length+o.length>le||o.length>wn)throw ot();const c=(await Y("v2/objects",{query:{limit:1},signal:a})).headers.get("Warrant-Token")??"",l={warrants:await xt(i,t,a),objects:await At(o,t,a)},d={warrants:await xt(i,c,a),objects:await At(o,c,a)},u=new Map;await ct(s.objects?.created??[],async p=>{const{value:f}=await qe(p,a);u.set(k(p),f.warrants.map(F))});const h={...d,naming:u};return{value:{...Sa(s,l,h,Date.now()),naming:u},token:c}}async function xt(t,n,r){const a=Ot(t,({objectType:l,objectId:d})=>({objectType:l,objectId:d})),s=Ot(t,({subject:l})=>({subjectType:l.objectType,subjectId:l.objectId})),i=a.length<=s.length?a:s;if(i.length>wn)throw ot();const o=new Set(t.map(F)),c=new Map;return await ct(i,async l=>{let d;do{const u={...l,limit:Ra,nextCursor:d,asOf:n},h=await E("v2/warrants",{query:u,signal:r});for(const p of h.results)o.has(F(p))&&c.set(F(p),p);d=h.nextCursor}while(d)}),c}function Ot(t,n){return[...new Map(t.map(r=>[JSON.stringify(n(r)),n(r)])).values()]}async function At(t,n,r){const a=new Map;return await ct(t,async s=>{try{const{objectType:i,objectId:o,meta:c}=await E(We(s),{query:{asOf:n},signal:r});a.set(k(s),{objectType:i,objectId:o,...c?{meta:c}:{}})}catch(i){if(!(i instanceof g)||i.status!==404)throw i}}),a}async function ct(t,n){for(let r=0;r<t.length;r+=Ct)await Promise.all(t.slice(r,r+Ct).map(n))}function Rt(t){return!Ie(t)&&t.kind!=="object"}async function Ma(t,n,r){const[a,s]=await Promise.all([n,void 0].map(d=>E("v2/model",{query:{asOf:d},accept:"application/json",signal:r})));if(!a||!s)throw new Error("two models were requested");const i=d=>new Set(t.flatMap(u=>!Ie(u)&&u.kind===d?[u.resourceId]:[])),o=i("object-type"),c=i("named-policy"),l={objectTypes:[...s.objectTypes.filter(d=>!o.has(d.type)),...a.objectTypes.filter(d=>o.has(d.type))],policies:[...s.policies.filter(d=>!c.has(d.name)),...a.policies.filter(d=>c.has(d.name))]};return(await Y("v2/model/convert",{body:l,accept:"text/plain",signal:r})).text()}const qa={created:"plus",updated:"model",deleted:"no",expired:"history"};function Et({change:{verb:t,what:n}}){return e("li",{class:t,children:[e("span",{class:"sign",children:[e(he,{name:qa[t]}),t]}),"warrant"in n?e("span",{children:["warrant: ",e(De,{warrant:n.warrant})]}):"object"in n?e("span",{children:["object ",e(ae,{object:n.object})]}):e("span",{children:[n.kind," ",e("span",{class:"name",children:n.name})]})]})}const Ee=3;function gn({changes:t,count:n=t.length}){return e(v,{children:[e("ul",{class:"events",children:t.slice(0,Ee).map((r,a)=>e(Et,{change:r},a))}),n>Ee&&e("details",{children:[e("summary",{children:[(n-Ee).toLocaleString()," more in this change"]}),e("ul",{class:"events",children:t.slice(Ee).map((r,a)=>e(Et,{change:r},a))}),n>t.length&&e("p",{class:"hint",children:["The other ",(n-t.length).toLocaleString()," are not listed here."]})]})]})}const _a={"+":"added: ","-":"removed: "," ":""};function yn({lines:t}){return e("div",{class:"changed-lines",tabIndex:0,role:"region","aria-label":"Changed lines",children:t.map(({sign:n,text:r},a)=>e("div",{class:n==="+"?"added":n==="-"?"removed":void 0,children:[e("span",{"aria-hidden":"true",children:[n," "]}),e("span",{class:"sr",children:_a[n]}),r]},a))})}const La=50;function kn({before:t,token:n}){const[r,a]=m([]),[s,i]=m(),o=R(c=>E("v2/difference",{query:{from:t,to:n,limit:La,nextCursor:s},signal:c}),[t,n,s]);return D(()=>{const c=o.value;c&&a(l=>[...l,...c.results])},[o.value]),o.fault?e(T,{fault:o.fault,retry:o.reload}):o.value?o.value.results.length===0&&r.length===0?e("p",{class:"hint",children:"Nobody gained or lost access."}):e(v,{children:[e(Un,{rows:r}),o.value.nextCursor&&e("button",{type:"button",class:"quiet",disabled:o.isLoading,onClick:()=>i(o.value?.nextCursor),children:"Show more"})]}):e(A,{what:"Comparing access"})}const Da=/(^|[^/])\/\/(?!\/)/m,ze=5;function jn({text:t,base:n,onSaved:r,onClose:a}){const s=R(u=>ya(t,u),[t]),[i,o]=m(!1),c=s.value,l=c!==void 0&&c.plan.stranded.length>0&&!i;async function d(){if(c){try{await Ta(t,c.newest.token,i)}catch(u){if(!(u instanceof g)||u.status!==412)throw u;s.reload();const h="Somebody else has just changed the model. Nothing was saved, and your text is still here";throw new g(412,u.code,h)}r()}}return e(I,{title:"Save this model?",action:"Save",isReady:c!==void 0&&!s.isLoading&&!l&&!Tn(c),onConfirm:d,onClose:a,children:[s.fault&&e(T,{fault:s.fault,retry:s.reload}),!c&&!s.fault&&e(A,{what:"Finding what it would change"}),c&&e(v,{children:[c.newest.text!==n.text&&e(ee,{children:e("p",{children:[e("strong",{children:"Somebody else has changed the model since you opened it."})," What you see here is compared with the model as it is now: lines that you did not change are changes of somebody else, which yours would undo."]})}),e(Wa,{review:c}),Da.test(t)&&e("p",{class:"hint",children:["Comments (",e("code",{children:"//"}),") are not stored with the model; descriptions (",e("code",{children:"///"}),") are."]}),c.plan.stranded.length>0&&e(Fa,{review:c,isKept:i,onKeep:o}),e("section",{class:"effect-of-model",children:[e("h3",{children:"Access"}),c.access instanceof g?e("p",{children:["It is not known who gains and who loses: ",c.access.message,"."]}):e(zn,{rows:c.access.results,hasMore:c.access.nextCursor!==void 0})]})]})]})}function Tn({plan:t}){return[t.objectTypes,t.policies].every(n=>Object.values(n).every(r=>r.length===0))}function Wa({review:t}){if(Tn(t))return e("p",{children:"Nothing would change: the service has this model."});const{plan:n,lines:r}=t;return e(v,{children:[e("ul",{class:"changes",children:[e($t,{kind:"object type",changes:n.objectTypes}),e($t,{kind:"policy",changes:n.policies})]}),r?e(yn,{lines:r}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})]})}const Pa=[["created","create"],["changed","change"],["deleted","delete"]];function $t({kind:t,changes:n}){return e(v,{children:Pa.map(([r,a])=>n[r].map(s=>e("li",{children:[e("span",{class:`verb ${a}`,children:a})," ",e("span",{children:[t," ",e("span",{class:"name",children:s})]})]},r+s)))})}function Fa({review:t,isKept:n,onKeep:r}){const{stranded:a,more:s}=t.plan;return e("div",{class:"notice fault",role:"alert",children:[e("p",{children:e("strong",{children:[s?`More than ${a.length}`:a.length," ",a.length===1&&!s?"warrant is":"warrants are"," not allowed by this model:"]})}),e("ul",{children:[a.slice(0,ze).map(i=>e("li",{children:e("code",{children:H(i)})},H(i))),a.length>ze&&e("li",{children:["and ",s?"more":`${a.length-ze} more`]})]}),e("p",{children:"Delete them first, allow them, or keep them: they stay stored, and count again when a model allows them."}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:n,onChange:i=>r(i.currentTarget.checked)}),"Keep them without effect"]})]})}const Ba="Somebody else has just changed what this would revert. Nothing was written; look at it again";function Ga({revision:t,findBefore:n,onDone:r,onClose:a}){const{token:s}=t,i=R(async b=>{const w=await n(b);return{before:w,seen:await St(w,s,b)}},[s]),[o,c]=m(new Set),l=i.value,d=l?.seen.value.actions??[],u=d.filter(b=>!o.has(be(b))),h=l?.seen.value.naming??new Map;async function p(){if(!l)return;const b=vn(u,h);await Pe(l.seen,()=>St(l.before,s),Ja(b),Ba),r(`Reverted ${u.length===1?"one change":`${u.length.toLocaleString()} changes`}.`)}function f(b){const w=new Set(o);w.delete(b)||w.add(b),c(w)}return e(I,{title:"Revert this change?",action:"Revert",isReady:u.length>0,onConfirm:p,onClose:a,children:[i.fault&&e(T,{fault:i.fault}),!l&&!i.fault&&e(A,{what:"Comparing with now"}),l&&d.length===0&&e("p",{children:"There is nothing to revert: all of it is as it was before."}),d.length>0&&e("fieldset",{class:"choices reversal",children:[e("legend",{children:"What was changed later by others stays. This would be written, all or none:"}),d.map(b=>e("label",{children:[e("input",{type:"checkbox",checked:!o.has(be(b)),onChange:()=>f(be(b))}),e("span",{class:`verb ${b.verb}`,children:b.verb}),e("span",{children:[e("code",{children:be(b)}),b.note&&e("span",{class:"hint",children:[" ",b.note]})]})]},be(b)))]}),l&&e(za,{kept:l.seen.value.kept}),u.length>0&&e(Ua,{actions:u})]})}function be({what:t}){return"warrant"in t?F(t.warrant):k(t.object)}function Ua({actions:t}){const{delete:n,create:r}=vn(t,new Map);return n.warrants.length+r.warrants.length===0?null:e(Ce,{proposal:{create:r.warrants,delete:n.warrants}})}function za({kept:t}){return t.length===0?null:e("details",{children:[e("summary",{children:[t.length.toLocaleString()," ",t.length===1?"stays":"stay"," as now"]}),e("ul",{class:"kept",children:t.map(({name:n,reason:r})=>e("li",{children:[e("code",{children:n})," ",r]},n))})]})}function Ja(t){const n=a=>Object.fromEntries(Object.entries(a).filter(([,s])=>s.length>0)),r={delete:n(t.delete),create:n(t.create)};return Object.fromEntries(Object.entries(r).filter(([,a])=>Object.keys(a).length>0))}function Ha({revision:t,findBefore:n,onDone:r,onClose:a}){const s=R(async i=>({text:await Ma(t.events,await n(i),i),base:await je(i)}),[t.token]);return s.value?e(jn,{...s.value,onSaved:()=>{r("The definitions are as they were before."),nt()},onClose:a}):e(I,{title:"Revert the model?",action:"Save",isReady:!1,onConfirm:Ka,onClose:a,children:s.fault?e(T,{fault:s.fault}):e(A,{what:"Reading the model"})})}function Ka(){return Promise.reject(new g(400,"invalid","It is not known yet what to save"))}function Va({revision:t,isComplete:n,onDone:r}){const{token:a,createdAt:s,actor:i,events:o}=t,c=O.value.parameters.moment===a,[l,d]=m(),u=o.some(Rt),h=o.some(j=>!Rt(j)),p=[...o.filter(Ie),...o.filter(j=>!Ie(j))],f=j=>Ya(t,n,j),b={revision:t,findBefore:f,onDone:r,onClose:()=>d(void 0)},w=ce(s);return e("li",{"aria-current":c||a===U.value?"time":void 0,children:[e("div",{class:"revision-head",children:[e(G,{time:s,isExact:!0}),e("span",{class:"actor",children:i??"unknown"}),e("a",{href:S("data",{at:a}),children:["As of that time",e("span",{class:"sr",children:[", ",w]})]}),e("a",{href:S("history",{moment:a,until:s}),children:["Link",e("span",{class:"sr",children:[" to this change, ",w]})]})]}),e(gn,{changes:p.map(Jn)}),t.isPartial&&e("p",{class:"hint",children:["This change has more than the ",o.length," events that are read so far."]}),!M.value&&e(v,{children:[e(It,{title:"Who gained, who lost",isFirstOpen:c,children:e(Qa,{find:f,token:a})}),u&&e(It,{title:"What changed in the model",isFirstOpen:c,children:e(Za,{find:f,token:a})}),e("div",{class:"actions small",children:[h&&e(N,{needs:{scope:"write"},class:"quiet",onClick:()=>d("data"),children:["Revert…",e("span",{class:"sr",children:[" the change of ",w]})]}),u&&e(N,{needs:{scope:"model",ofAllTypes:!0},class:"quiet",onClick:()=>d("model"),children:["Revert the model…",e("span",{class:"sr",children:[" of ",w]})]})]})]}),l==="data"&&e(Ga,{...b}),l==="model"&&e(Ha,{...b})]})}async function Ya(t,n,r){const[a]=t.events,s=n&&!t.isPartial?t.before:a&&await $a(a,r);if(s)return s;throw new g(410,"gone","This is the first change that is kept: there is nothing to compare it with")}function It({title:t,isFirstOpen:n,children:r}){const[a,s]=m(n);return e("details",{open:a,onToggle:i=>s(i.currentTarget.open),children:[e("summary",{children:t}),a&&r]})}function Qa({find:t,token:n}){const r=R(t,[n]);return r.fault?e("p",{class:"hint",children:[r.fault.message,"."]}):r.value?e(kn,{before:r.value,token:n}):e(A,{what:"Comparing access"})}function Za({find:t,token:n}){const r=R(async s=>{const[i,o]=await Promise.all([je(s,await t(s)),je(s,n)]);return{lines:mn(i.text,o.text)}},[n]);if(r.fault)return e(T,{fault:r.fault});if(!r.value)return e(A,{what:"Comparing the models"});const{lines:a}=r.value;return a?e(yn,{lines:a}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})}const Je=25,Xa=500;function es(){const{type:t=M.value?.[0],object:n="",actor:r="",until:a}=O.value.parameters,[s,i]=m({message:"",count:0}),o=Z(n),c={...o?{object:o}:{type:t},...a?{until:ts(a)}:{}};return e("div",{class:"history",children:[e("div",{class:"heading",children:[e("h1",{children:"History"}),e(pn,{})]}),e("p",{class:"lead",children:"Every change of the model, the objects and the warrants, with who made it. Open one to see who gained and who lost access, or revert it."}),e(ns,{type:t,object:n,actor:r,until:a}),s.message&&e(ee,{children:e("p",{children:s.message})}),e(as,{filter:c,actor:r,onDone:l=>i(({count:d})=>({message:l,count:d+1}))},JSON.stringify([c,r,s.count]))]})}function ts(t){return t.endsWith("Z")?Qt({createdAt:t}):Date.parse(t)*1e3+999999}function ns({type:t,object:n,actor:r,until:a}){const[s,i]=m(n);D(()=>i(n),[n]);const o=M.value??xe(),c=!!(t&&!M.value||n||r||a),l=(d,u)=>z({[d]:u.trim()||void 0,moment:void 0});return e(ua,{count:[M.value?"":t,n,r,a].filter(Boolean).length,onSubmit:()=>l("object",s),children:[e("div",{class:"field",children:[e("label",{for:"type",children:"Type"}),e("select",{id:"type",value:n?"":t??"",disabled:n!=="",onChange:d=>l("type",d.currentTarget.value),children:[!M.value&&e("option",{value:"",children:"all"}),o.map(d=>e("option",{value:d,children:d},d))]})]}),!M.value&&e(B,{label:"Object",placeholder:"any",value:s,complete:ue,onInput:d=>{i(d),d===""&&l("object","")},onChoose:d=>l("object",d)}),e("div",{class:"field",children:[e("label",{for:"actor",children:"Made by"}),e("input",{id:"actor",type:"search",class:"code",placeholder:"anybody",value:r,onChange:d=>l("actor",d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"until",children:"Until"}),e("input",{id:"until",type:"datetime-local",step:"1",value:a?rs(a):"",onChange:d=>l("until",d.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Filter"}),c&&e("a",{class:"quiet-link",href:S("history"),children:"All changes"})]})}function rs(t){const n=new Date(t);return Number.isNaN(n.getTime())?"":new Date(n.getTime()-n.getTimezoneOffset()*6e4).toISOString().slice(0,19)}function as({filter:t,actor:n,onDone:r}){const a=L(Zt(t)),[s,i]=m(),[o,c]=m(),[l,d]=m(1);async function u(p){let f=0;for(;;){const{revisions:b,hasMore:w}=await a.current.readMore(Je,p);f+=Je;const j=b.filter(y=>!n||(y.actor??"unknown").includes(n));if(!w||j.length>=l*Je||f>=Xa||!n)return{revisions:j,hasMore:w,searchedTo:b.at(-1)?.createdAt}}}D(()=>{const p=new AbortController;return u(p.signal).then(f=>!p.signal.aborted&&i(f),f=>{if(!p.signal.aborted){if(!(f instanceof g))throw f;c(f)}}),()=>p.abort()},[l]);const h=!!(t.type||t.object||t.until||n);return e(v,{children:[o&&e(T,{fault:o}),!s&&!o&&e(A,{what:"Reading changes"}),s?.revisions.length===0&&e(q,{title:h?"No change has all of this.":"Nothing has been changed yet.",children:e("p",{children:h?"Changes are listed as long as events are kept.":"What you write is listed here, as long as events are kept."})}),e("ol",{class:"timeline",children:s?.revisions.map(p=>e(Va,{revision:p,isComplete:!t.type&&!t.object,onDone:r},p.token))}),s?.hasMore&&e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>d(p=>p+1),children:"Earlier changes"}),n&&s.searchedTo&&e("span",{class:"hint",children:["Looked at all changes since ",e(G,{time:s.searchedTo,isExact:!0}),"."]})]})]})}const lt=300,Qe=50,ss=[["objectTypes","object type"],["policies","policy"]],is=["created","updated","deleted","expired"];function os(t,n){const{id:r,data:a}=t,s=String(a.time),i=String(a.token);if(t.name==="revision"){const{changes:d,count:u}=cs(a),h=typeof a.actor=="string"?a.actor:void 0;return{kind:"revision",id:r,time:s,token:i,actor:h,before:n,changes:d,count:u}}if(t.name!=="access")return;if(a.resync!==void 0)return{kind:"gap",id:r,time:s,words:"This change concerns too much access to list it."};const o=a.gained??[],c=a.lost??[],l=[...c.slice(0,Qe).map(Nt(!1)),...o.slice(0,Qe).map(Nt(!0))];return{kind:"access",id:r,time:s,at:r===i?i:s,rows:l,count:o.length+c.length}}function Nt(t){return n=>({...n,isGained:t})}function cs(t){const n=[];let r=0;const a=(s,i)=>{for(const o of is){const c=s?.[o]??[];r+=c.length;for(const l of c.slice(0,Qe-n.length))n.push({verb:o,...i(l)})}};a(t.warrants,s=>({what:{warrant:s}}));for(const[s,i]of ss)a(t[s],o=>({what:{kind:i,name:String(o.type??o.name)}}));return a(t.objects,s=>({what:{object:s}})),{changes:n,count:r}}function ls(t,n){return[...n.toReversed(),...t].slice(0,lt)}function Mt(t){if(t.kind==="gap")return t.words;const n=t.count>1?` and ${t.count-1} more`:"";if(t.kind==="revision"){const[a]=t.changes;return`${a?Hn(a):"nothing"}${n}${t.actor?`, by ${t.actor}`:""}`}const[r]=t.rows;return r?`${Te(r.subject)} ${r.isGained?"gained":"lost"} ${r.relation} on ${k(r)}${n}`:"nothing"}function ds(t){const n=t.at(-1);return n?t.length===1?Mt(n):`${t.length} new entries, the last: ${Mt(n)}`:""}const He=2;function us({entry:t}){return t.kind==="gap"?e("li",{children:[e("div",{class:"revision-head",children:e("time",{dateTime:t.time,children:ce(t.time)})}),e("p",{children:[t.words," See the ",e("a",{href:S("history"),children:"past changes"}),"."]})]}):e("li",{children:[e("div",{class:"revision-head",children:[e("time",{dateTime:t.time,children:ce(t.time)}),t.kind==="revision"&&e("span",{class:"actor",children:t.actor??"unknown"}),e("a",{href:S("data",{at:t.kind==="revision"?t.token:t.at}),children:["As of that time",e("span",{class:"sr",children:[", ",ce(t.time)]})]})]}),t.kind==="revision"?e(hs,{entry:t}):e(ps,{entry:t})]})}function hs({entry:{before:t,token:n,changes:r,count:a}}){const[s,i]=m(!1);return e(v,{children:[e(gn,{changes:r,count:a}),t&&e("details",{onToggle:o=>i(o.currentTarget.open),children:[e("summary",{children:"Who gained, who lost"}),s&&e(kn,{before:t,token:n})]})]})}function ps({entry:{rows:t,count:n,at:r}}){return e(v,{children:[e("ul",{class:"access",children:t.map((a,s)=>e(ms,{row:a,at:r},s))}),n>t.length&&e("p",{class:"hint",children:[(n-t.length).toLocaleString()," more are not listed here."]})]})}function ms({row:t,at:n}){const r={subject:Te(t.subject),relation:t.relation,object:k(t)},a=t.objectId==="*"||t.subject.objectId==="*";return e("li",{class:t.isGained?"gained":"lost",children:[e("span",{class:"sign",children:[e(he,{name:t.isGained?"plus":"no"}),t.isGained?"gained":"lost"]}),e("div",{children:[e(Kt,{subject:t.subject})," ",e("b",{children:t.relation})," on ",e(ae,{object:t}),t.conditional&&e("span",{class:"hint",children:" if the context allows it"})," ",!a&&e("a",{href:S("why",{...r,at:n}),children:["Why",e("span",{class:"sr",children:[" ",Object.values(r).join(" ")]})]}),t.cause&&e(fs,{cause:t.cause})]})]})}function fs({cause:{created:t,deleted:n,objectTypes:r}}){const a=[...t.map(s=>({row:s,verb:"was created"})),...n.map(s=>({row:s,verb:"was deleted"}))];return e("div",{class:"hint",children:[a.slice(0,He).map(({row:s,verb:i},o)=>e("div",{children:["because ",e(bs,{row:s})," ",i]},o)),r.length>0&&e("div",{children:["because the object type ",r.join(", ")," was changed"]}),a.length>He&&e("div",{children:["and ",a.length-He," more causes"]})]})}function bs({row:t}){return"relation"in t?e(De,{warrant:t}):e(ae,{object:t})}const vs=200,ws=5e3,Cn={path:"v2/watch",fields:{objectType:"Object types",relation:"Relations",subjectType:"Types of subjects"}},Sn={path:"v2/watch/access",fields:{of:"Access"}};function gs(){const{parameters:t}=O.value,n=t.show==="access",r=n?ks(t):ys(t);return e("div",{class:"live",children:[e("div",{class:"heading",children:[e("h1",{children:"Live"}),e(pn,{})]}),U.value?e(q,{title:"The past does not change.",children:e("p",{children:"This page shows what is written from now on. Go back to now to see it."})}):e(v,{children:[e(js,{isOfAccess:n},String(n)),r?e(Ts,{isOfAccess:n,filter:r},JSON.stringify([n,r])):e(q,{title:"Which access?",children:e("p",{children:["Write a type, a relation and a type of subjects, such as ",e("code",{children:"document#viewer@user"}),". Whoever gains or loses this access is listed here, with the cause."]})})]})]})}function ys({objectType:t,relation:n,subjectType:r}){const a=$e(t);return{objectType:a.length>0?a:M.value??[],relation:$e(n),subjectType:$e(r)}}function ks({of:t,subject:n,object:r}){const a=$e(t);return a.length>0?{of:a.join(","),subject:n,object:r}:void 0}function $e(t=""){return t.split(/[\s,]+/).filter(Boolean)}function js({isOfAccess:t}){const{parameters:n}=O.value,[r,a]=m(n),s=t?Sn.fields:Cn.fields,i=o=>c=>a({...r,[o]:c});return e("form",{class:"filters",onSubmit:o=>{o.preventDefault(),z({...r,show:n.show})},children:[e("div",{class:"field",children:[e("label",{for:"live-show",children:"Show"}),e("select",{id:"live-show",value:t?"access":"changes",onChange:o=>z({show:o.currentTarget.value==="access"?"access":void 0}),children:[e("option",{value:"changes",children:"what is written"}),e("option",{value:"access",children:"who gains and loses access"})]})]}),Object.entries(s).map(([o,c])=>e("div",{class:"field",children:[e("label",{for:`live-${o}`,children:c}),e("input",{id:`live-${o}`,type:"text",spellcheck:!1,required:t,placeholder:t?"document#viewer@user":"all",value:r[o]??"",onInput:l=>i(o)(l.currentTarget.value)})]},o)),t&&e(v,{children:[e(B,{label:"Subject",value:r.subject??"",placeholder:"all",complete:Jt,onInput:i("subject")}),e(B,{label:"Object",value:r.object??"",placeholder:"all",complete:ue,onInput:i("object")})]}),e("button",{type:"submit",class:"quiet",children:"Filter"})]})}function Ts({isOfAccess:t,filter:n}){const{state:r,entries:a,isPaused:s,setPaused:i,retry:o,clear:c}=Ss(t?Sn.path:Cn.path,n),l=xs(a);return e(v,{children:[e("div",{class:"actions",children:[e("div",{role:"status",children:e(Cs,{state:r,isPaused:s})}),e("button",{type:"button",class:"quiet","aria-pressed":s,onClick:()=>i(!s),children:s?"Continue":"Pause"}),e("button",{type:"button",class:"quiet",disabled:a.length===0,onClick:c,children:"Clear"}),r.is==="waiting"&&!s&&e("button",{type:"button",class:"quiet",onClick:o,children:"Connect now"})]}),r.is==="stopped"&&e(T,{fault:r.fault,retry:o}),e("p",{class:"sr",role:"status",children:l}),a.length===0&&r.is==="connected"&&!s&&e(q,{title:"Nothing has happened yet.",children:e("p",{children:["What is written from now on is listed here, ",lt," entries at most."]})}),e("ol",{class:"timeline","aria-label":t?"Access gained and lost":"Changes",children:a.map(d=>e(us,{entry:d},d.id))})]})}function Cs({state:t,isPaused:n}){return n?e(v,{children:[e(V,{tone:"unknown",children:"Paused"})," ",e("span",{class:"hint",children:"It goes on with what follows the first entry."})]}):t.is==="connected"?e(V,{tone:"yes",children:"Connected"}):t.is==="connecting"?e(V,{tone:"unknown",children:"Connecting"}):e(v,{children:[e(V,{tone:"no",children:"Not connected"})," ",t.is==="waiting"&&e("span",{class:"hint",children:[t.fault?.message??"The connection was cut."," It is tried again ",t.seconds===1?"at once":`in ${t.seconds} s`,"."]})]})}function Ss(t,n){const[r,a]=m({is:"connecting"}),[s,i]=m([]),[o,c]=m(!1),l=L(null);return D(()=>{const d=Object.values(n).flat().filter(Boolean).length===0,u=[];let h,p,f=0;const b=()=>{h=void 0;const _=u.splice(0);i(W=>ls(W,_))},w=_=>{u.push(_),u.length>lt&&u.shift(),h??=setTimeout(b,vs)},j=_=>{const W=os(_,p);d&&(p=String(_.data.token)),W&&w(W)},y=()=>{f+=1,p=void 0,w({kind:"gap",id:`gap-${f}`,time:new Date().toISOString(),words:"Changes before this are missing: they are not kept any more, or the store was restored."})};return l.current=Kn(t,n,{onState:a,onEvent:j,onGap:y}),()=>clearTimeout(h)},[]),D(()=>(o||l.current?.start(),()=>l.current?.stop()),[o]),{state:r,entries:s,isPaused:o,setPaused:c,retry:()=>l.current?.start(),clear:()=>i([])}}function xs(t){const[n,r]=m(""),a=L(void 0),s=L(0);return D(()=>{const i=t.findIndex(l=>l.id===a.current),o=i<0?t:t.slice(0,i);if(o.length===0)return;const c=setTimeout(()=>{a.current=t[0]?.id,s.current=Date.now()+ws,r(ds(o.toReversed()))},Math.max(0,s.current-Date.now()));return()=>clearTimeout(c)},[t]),n}const qt=1048576;function Os({onImported:t,onClose:n}){const[r,a]=m(""),[s,i]=m(!1);async function o(l){l&&a((await l.text()).slice(0,qt+1))}async function c(){if(r.trim()==="")throw new g(400,"invalid","Paste a model, or choose a file");if(r.length>qt)throw new g(400,"invalid","The model has more than 1,048,576 characters; use the command magistrate model convert");t(await ga(r,s))}return e(I,{title:"Import a model",action:"Convert",onConfirm:c,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"model-file",children:"File"}),e("input",{id:"model-file",type:"file",onChange:l=>{o(l.currentTarget.files?.[0])}})]}),e("div",{class:"field",children:[e("label",{for:"foreign-model",children:"Or paste the model"}),e("textarea",{id:"foreign-model",class:"code",rows:12,spellcheck:!1,"aria-describedby":"foreign-model-hint",value:r,onInput:l=>a(l.currentTarget.value)}),e("span",{class:"hint",id:"foreign-model-hint",children:"A model of OpenFGA, in its language or as JSON, a schema of SpiceDB, or a model of this service. It is put into the editor; nothing is saved yet."})]}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:s,onChange:l=>i(l.currentTarget.checked)}),"Leave out what cannot be expressed here, with all that depends on it"]})]})}const As=300,_t={scope:"model",ofAllTypes:!0},Rs=`version 1.0

type user

type document
    relation owner [user]

    relation viewer [user]
    inherit viewer if
        relation owner
`,Ze=Vn(void 0);function Es(){const t=R(a=>je(a,U.value),[U.value]),[n,r]=m("");return e("div",{class:"wide model",children:[e("h1",{children:"Model"}),n&&e(ee,{children:e("p",{children:n})}),t.fault&&e(T,{fault:t.fault,retry:t.reload}),t.value===void 0&&!t.fault&&e(A,{what:"Reading the model"}),t.value!==void 0&&e($s,{stored:t.value,onSaved:()=>{Ze.value=void 0,r("The model was saved."),t.reload(),nt()},onChange:()=>r("")},`${U.value??""} ${t.value.text}`)]})}function $s({stored:t,onSaved:n,onChange:r}){const a=U.value!==void 0,s=!/^type /m.test(t.text),i=s?Rs:t.text,o=a?void 0:Ze.peek(),c=L(o?.base??t),[l,d]=m(o?.text??i),[u,h]=m(l),[p,f]=m(!1),[b,w]=m(!1),[j,y]=m(),[_,W]=m(),P=L(void 0),Oe=l!==i,Ae=R(Ns,[]),{open:Be}=O.value.parameters;D(()=>{Be&&(w(Be==="import"&&!a),z({open:void 0}))},[Be]),D(()=>{const x=setTimeout(()=>h(l),As);return()=>clearTimeout(x)},[l]);const ie=R(x=>E("v2/model/validate",{text:u,signal:x}),[u]),J=ie.value,ht=u===l&&!ie.isLoading;function pt(x){d(x),W(void 0),r(),a||(Ze.value=x===i?void 0:{text:x,base:c.current})}function Wn(x){y(x),P.current?P.current.setText(x.text):pt(x.text)}function Pn(){y(void 0),c.current=t,P.current?.setText(i)}async function Fn(){try{P.current?.setText(await va(l))}catch(x){if(!(x instanceof g))throw x;W(x)}}const mt=Ae.value;return e(v,{children:[e("div",{class:"actions",children:[e(N,{needs:_t,class:"primary",disabled:!(Oe||s)||!ht||!J?.valid,onClick:()=>f(!0),children:"Review and save…"}),!a&&e("button",{type:"button",class:"quiet",disabled:!ht||!J?.valid,onClick:Fn,children:"Format"}),Oe&&!a&&e("button",{type:"button",class:"quiet",onClick:Pn,children:"Back to the stored model"}),!a&&e("button",{type:"button",class:"quiet",onClick:()=>w(!0),children:"Import…"}),e("button",{type:"button",class:"quiet",onClick:()=>ke("model.txt","text/plain",l),children:"Download"}),e(rt,{needs:_t,children:", so it cannot save. Try changes here, and download them."})]}),_&&e(T,{fault:_}),j&&e(Is,{notes:j.notes}),Ae.fault&&e(T,{fault:Ae.fault}),mt?e(mt,{first:l,settled:u,found:J,isReadOnly:a,start:O.value.parameters.of,onText:pt,onReady:x=>P.current=x}):!Ae.fault&&e(A,{what:"Loading the editor"}),e("section",{class:"faults card","aria-label":"Validation","aria-live":"polite",children:[ie.fault&&e(T,{fault:ie.fault,retry:ie.reload}),!J&&!ie.fault&&e(A,{what:"Validating"}),J&&e(Ms,{found:J}),J&&e(Lt,{title:"Errors",faults:J.errors,onChoose:x=>P.current?.goTo(x.line,x.column)}),J&&e(Lt,{title:"Warnings",faults:J.warnings,onChoose:x=>P.current?.goTo(x.line,x.column)})]}),p&&e(jn,{text:l,base:c.current,onSaved:n,onClose:()=>f(!1)}),b&&e(Os,{onImported:Wn,onClose:()=>w(!1)})]})}function Is({notes:t}){return e(ee,{children:[e("p",{children:"The model is in the editor. Review it, and save it."}),t.length>0&&e("ul",{children:t.map(n=>e("li",{children:n},n))})]})}async function Ns(){try{return(await Yn(async()=>{const{Workbench:t}=await import("./workbench.js");return{Workbench:t}},[],import.meta.url)).Workbench}catch{throw new g(0,"unreachable","The editor could not be loaded.")}}function Ms({found:t}){return e("p",{class:"sentence-line",children:[e(V,{tone:t.valid?"yes":"no",children:t.valid?"Valid":"Not valid"})," ",t.valid&&t.warnings.length===0&&"The model has no faults."]})}function Lt({title:t,faults:n,onChoose:r}){return n.length===0?null:e(v,{children:[e("h2",{children:t}),e("ul",{class:"fault-list",children:n.map((a,s)=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>r(a),children:["Line ",a.line,", column ",a.column]}),e("span",{children:a.message}),a.suggestion&&!a.message.includes(a.suggestion)&&e("span",{class:"hint",children:["Write ",a.suggestion,"."]}),e("code",{class:"hint",children:a.code})]},s))})]})}function we(t){return k(t)+(t.subjectRelation?`#${t.subjectRelation}`:"")}const qs="can-";function _s(t,n,r){return[...dt(t,n)].map(([a,s])=>{const i=new Set(s.map(d=>d.relation)),o=[...r(a),...i].filter(d=>i.has(d)),c=[...new Set(o)],l=Ls(c,s);return{objectType:a,relations:c.filter(d=>l.has(d)),folded:c.filter(d=>!l.has(d)),lines:xn(s)}})}function Ls(t,n){const r=t.filter(a=>a.startsWith(qs));return r.length===0?new Set(t):new Set([...r,...n.filter(a=>!a.isImplicit).map(a=>a.relation)])}function xn(t){return[...dt(t,we)].map(([n,r])=>({name:n,row:r[0],cells:new Map(r.map(a=>[a.relation,a]))}))}function Ds(t,n){const r=n.trim().toLowerCase();return r?t.filter(a=>a.name.toLowerCase().includes(r)):t}function Ws(t,n){const r=t.flatMap(s=>[...s.cells.values()].filter(i=>n.includes(i.relation))),a=[...dt(r,s=>s.warrant?H(s.warrant):"")];return a.sort(([,s],[,i])=>i.length-s.length),a.map(([,s])=>({reason:s[0].warrant,lines:xn(s)}))}function Ps(t,n){return t.filter(r=>r.cells.has(n)).length}function dt(t,n){const r=new Map;for(const a of t){const s=r.get(n(a));s?s.push(a):r.set(n(a),[a])}return r}function Fs({context:t}){const[n,r]=m(t);return Xt(()=>r(t),[t]),e("details",{open:t!=="",children:[e("summary",{children:"Try a context for policies"}),e("form",{class:"filters",onSubmit:a=>{a.preventDefault(),z({context:n.trim()||void 0,next:void 0,prev:void 0})},children:[e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:n,onInput:a=>r(a.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Try it"})]})]})}function Bs({matrix:t,filter:n,isGrouped:r,...a}){const s=L(null),[i,o]=m(!1),c=i?[...t.relations,...t.folded]:t.relations,l=Ds(t.lines,n),d=a.areSubjects?"Who has access":`Access to ${t.objectType}`;return e("section",{class:"matrix",children:[e("div",{class:"heading",children:[!a.areSubjects&&e("h2",{children:t.objectType}),e("p",{class:"hint",children:[l.length===t.lines.length?l.length:`${l.length} of ${t.lines.length}`," ",a.areSubjects?"with access":"that it has access to"]}),t.folded.length>0&&e("button",{type:"button",class:"linklike","aria-expanded":i,onClick:()=>o(!i),children:i?"Fewer relations":`${t.folded.length} more: ${t.folded.join(", ")}`})]}),e("div",{class:"scrolled",tabIndex:0,role:"region","aria-label":d,children:e("table",{ref:s,children:[e("thead",{children:e("tr",{children:[e("th",{scope:"col",children:a.areSubjects?"Subject":"Object"}),c.map(u=>e("th",{scope:"col","data-text":u,children:[u," ",e("span",{class:"count",children:Ps(l,u)})]},u))]})}),r?Ws(l,c).map(({reason:u,lines:h})=>e("tbody",{children:[e("tr",{children:e("th",{scope:"rowgroup",colSpan:c.length+1,class:"reason",children:u?e(De,{warrant:u}):"Nothing excludes it"})}),e(Dt,{lines:h,relations:c,...a})]},u?JSON.stringify(u):"")):e("tbody",{children:e(Dt,{lines:l,relations:c,...a})})]})}),e(rn,{label:d,table:s})]})}function Dt({lines:t,relations:n,...r}){return e(v,{children:t.map(a=>e("tr",{children:[e("th",{scope:"row",children:[e(ae,{object:a.row}),a.row.subjectRelation&&`#${a.row.subjectRelation}`]}),n.map(s=>e("td",{"data-text":Us(a.cells.get(s)),children:e(Gs,{row:a.cells.get(s),name:a.name,...r})},s))]},a.name))})}function Gs({row:t,name:n,fixed:r,areSubjects:a,context:s}){if(!t)return e("span",{class:"sr",children:"no"});const{policy:i,expiresAt:o}=t.warrant??{},c=e(v,{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t.isImplicit?"ring":"dot"})}),e("span",{class:"sr",children:[t.relation," of ",n,", ",t.isImplicit?"by rules":"by warrant"]}),i&&e("span",{class:"condition",children:" if"}),o&&e("span",{class:"condition",children:[" ","until ",e(G,{time:o})]})]});if(t.objectId==="*")return e("span",{class:"cell",children:c});const l=a?{subject:n,object:r}:{subject:r,object:k(t)};return e("a",{class:"cell",title:i&&`if ${i}`,href:S("why",{...l,relation:t.relation,context:s}),children:c})}function Us(t){if(!t)return"";const{policy:n,expiresAt:r}=t.warrant??{};return(t.isImplicit?"by rules":"by warrant")+(n?` if ${n}`:"")+(r?` until ${r}`:"")}function zs(){return e("ul",{class:"legend",children:[["dot","ring"].map(t=>e("li",{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t})}),t==="dot"?"by warrant":"by rules"]},t)),e("li",{children:[e("b",{children:"if"})," a policy holds"]})]})}async function On(t,n,r,a){let s;try{s=n?JSON.parse(n):void 0}catch{throw new g(400,"invalid",'The context is not JSON: write {"network": "office"}')}return E("v2/query",{body:{q:t,context:s,...r},signal:a})}function Xe(t,n,r,a,s){return at(i=>On(t,n,{...i,asOf:a},s),r)}const Js=50,Wt=1e3,Pt="because",ve={scope:"write"},Ft={who:"Who has access to it",what:"What it has access to",on:"Warrants on it",to:"Warrants to it"};function Hs(){const{name:t="",tab:n}=O.value.parameters,r=Z(t),[a,s]=m(),[i,o]=m("");if(!r)return e(q,{title:"Which object?",children:e("p",{children:["An object is written ",e("code",{children:"type:id"}),". Find one in the ",e("a",{href:S("data"),children:"data"}),"."]})});const c=pe.value?.find(h=>h.type===r.objectType),l=c!==void 0&&Object.keys(c.relations).length>0,d=r.objectType==="user",u=n&&n in Ft?n:l&&!d?"who":"what";return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:e("span",{class:"name",children:t})}),e("div",{class:"actions",children:[e(rt,{needs:ve}),r.objectId!=="*"&&e(v,{children:[e(N,{needs:ve,class:"quiet",onClick:()=>s("meta"),children:"Edit meta…"}),e(N,{needs:ve,class:"quiet",onClick:()=>s("rename"),children:"Rename…"}),e(N,{needs:ve,class:"quiet",onClick:()=>s("delete"),children:"Delete…"})]}),e(N,{needs:ve,class:"primary",onClick:()=>s("warrant"),children:[e(he,{name:"plus"}),"New warrant"]})]})]}),e(Ks,{object:r,turn:i}),i&&e(ee,{children:e("p",{children:i})}),e("nav",{class:"tabs","aria-label":"About this object",children:Object.entries(Ft).map(([h,p])=>e("a",{href:S("object",{name:t,tab:h}),"aria-current":h===u?"page":void 0,children:p},h))}),u==="who"||u==="what"?e(en,{needs:{scope:"query"},children:e(Vs,{object:r,areSubjects:u==="who",turn:i})}):e(Zs,{object:r,isSubject:u==="to",turn:i,onDone:o}),a==="warrant"&&e(ln,{...u==="who"||u==="on"?{object:t}:{subject:t},onDone:o,onClose:()=>s(void 0)}),a==="meta"&&e(Yr,{object:r,onDone:o,onClose:()=>s(void 0)}),a==="rename"&&e(Xr,{object:r,onClose:()=>s(void 0)}),a==="delete"&&e(Qr,{object:r,onDone:o,onClose:()=>s(void 0)})]},t)}function Ks({object:t,turn:n}){const r=We(t),a=M.value?.includes(t.objectType)===!1,s=R(a?void 0:c=>E(r,{query:{asOf:U.value},signal:c}),[r,U.value,n]);if(a)return e("p",{class:"hint",children:["Your key is limited to ",M.value?.join(", "),": only access to such objects is shown."]});if(s.fault?.status===404)return e("p",{class:"hint",children:"It is not stored; warrants may name it all the same."});if(s.fault)return e(T,{fault:s.fault,retry:s.reload});if(!s.value)return e("p",{class:"hint",children:"…"});const{meta:i,createdAt:o}=s.value;return e(v,{children:[e("p",{class:"hint",children:["Created ",re(o)]}),i&&Object.keys(i).length>0&&e("dl",{class:"meta-list",children:Object.entries(i).map(([c,l])=>e("div",{children:[e("dt",{children:c}),e("dd",{children:typeof l=="string"?l:JSON.stringify(l)})]},c))})]})}function Vs({object:t,areSubjects:n,turn:r}){const{context:a=""}=O.value.parameters;return e(v,{children:[e(Fs,{context:a}),e(Qs,{object:t,areSubjects:n,turn:r,context:a})]})}function Ys(t){return Object.keys(pe.value?.find(n=>n.type===t)?.relations??{})}function Qs({object:t,areSubjects:n,turn:r,context:a}){const{at:s,filter:i="",group:o}=O.value.parameters,[c,l]=m(Wt),d=k(t),u=M.value?.join(", ")??"*",h=n?`select * of type * for ${Ve(t)}`:`select ${u} where ${Ve(t)} is *`,p=R(j=>Xe(h,a,c,s,j),[h,a,s,r,c]);if(p.fault?.status===404)return e(q,{title:`The model does not define the type ${t.objectType}, so nobody has access to it.`});if(p.fault)return e(T,{fault:p.fault,retry:p.reload});if(!p.value)return e(A,{what:"Finding access"});const{rows:f,isCut:b}=p.value;return f.length===0?e(q,{title:n?`Nobody has access to ${d}.`:`${d} has access to nothing.`}):e(v,{children:[e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"filter",children:"Contains"}),e("input",{id:"filter",type:"search",value:i,onInput:j=>z({filter:j.currentTarget.value})})]}),e("div",{class:"field",children:[e("label",{for:"group",children:"Group by"}),e("select",{id:"group",value:o??"",onChange:j=>z({group:j.currentTarget.value}),children:[e("option",{value:"",children:"nothing"}),e("option",{value:Pt,children:"because of"})]})]}),e(zs,{})]}),_s(f,n?()=>t.objectType:j=>j.objectType,Ys).map(j=>e(Bs,{matrix:j,fixed:d,areSubjects:n,context:a,filter:i,isGrouped:o===Pt},j.objectType)),b&&e("div",{class:"actions",children:[e("p",{class:"hint",children:["There is more than these ",f.length," relations."]}),e("button",{type:"button",class:"quiet",disabled:p.isLoading,onClick:()=>l(c+Wt),children:"Show more"})]})]})}function Zs({object:t,isSubject:n,turn:r,onDone:a}){const{next:s,prev:i,at:o}=O.value.parameters,c=n?{subjectType:t.objectType,subjectId:t.objectId}:{objectType:t.objectType,objectId:t.objectId},l=n?{objectType:M.value?.[0]}:{},d=R(u=>{const h={...l,...c,limit:Js,nextCursor:s,prevCursor:i,asOf:o};return E("v2/warrants",{query:h,signal:u})},[k(t),n,s,i,o,r]);return d.fault?e(T,{fault:d.fault,retry:d.reload}):d.value?d.value.results.length===0?e(q,{title:"There are no such warrants."}):e(v,{children:[e(dn,{warrants:d.value.results,onDone:a}),e(me,{page:d.value})]}):e(A,{what:"Reading warrants"})}function Xs({rows:t,fixed:n,areSubjects:r,context:a,readLines:s}){return e(se,{label:"Results",headings:[r?"Subject":"Object","Relation","How","Because"],hasActions:!0,readLines:s,children:t.map(i=>e("tr",{children:[e("td",{children:[e(ae,{object:i}),i.subjectRelation&&`#${i.subjectRelation}`]}),e("td",{children:e("b",{children:i.relation})}),e("td",{children:i.isImplicit?"by rules":"by warrant"}),e("td",{children:i.warrant?e(De,{warrant:i.warrant}):"nothing excludes it"}),e("td",{class:"row-actions",children:[n&&i.objectId!=="*"&&e("a",{href:S("why",{subject:r?we(i):n,relation:i.relation,object:r?n:k(i),context:a}),children:["Why",e("span",{class:"sr",children:[" ",we(i)," ",i.relation]})]}),n&&i.objectId!=="*"&&e(Qn,{subject:r?we(i):n,relation:i.relation,object:r?n:k(i),context:a})]})]},`${we(i)}#${i.relation}`))})}const An=/,|[^\s,:]+:"[^"]*"?|[^\s,]+/g,ei=/(?:[^\s,:]+:"[^"]*"?|[^\s,]*)$/,et={"":{select:"select"},select:{where:"where",of:"of"},where:{is:"is"},is:{and:"and"},and:{not:"not",is:"is"},not:{is:"is"},of:{type:"of type"},"of type":{for:"for"},for:{}},ti={select:!0,where:!0,is:!0,not:!0,"of type":!0,for:!0};function ni(t,n){const r=ei.exec(t)?.[0]??"",a=t.slice(0,t.length-r.length);let s="",i=[],o=[],c=!0;for(const h of a.match(An)??[]){const p=c&&s in ti?void 0:et[s][h.toLowerCase()];p!==void 0?(s==="select"&&(o=i),s=p,i=[],c=!0):h===","?c=!0:(s!=="select"||h.toLowerCase()!=="explicit")&&(i.push(h),c=!1)}const l={before:a,word:r,keywords:[],isType:!1,isObject:!1,isAll:!1,named:i};if(s===""||s==="of")return{...l,keywords:Object.keys(et[s])};if(!c)return{...l,keywords:ri(s,i,n)};const d=i.length===0,u=i.some(h=>n.includes(h));switch(s){case"select":return{...l,isAll:d,keywords:d&&!/explicit\s+$/i.test(a)?["explicit"]:[],isType:d||u,relationsOf:d||!u?[]:void 0};case"is":return{...l,isAll:d,relationsOf:o.filter(h=>n.includes(h))};case"of type":return{...l,isAll:d,isType:!0};case"and":return{...l,keywords:d?["not"]:[],isObject:d};default:return{...l,isObject:d}}}function ri(t,n,r){return t==="and"?["is"]:t!=="select"?Object.keys(et[t]):n.includes("*")?["where","of type"]:n.every(a=>r.includes(a))?["where"]:["of type"]}function ai(t){const n=t.match(An)??[],r=n.findIndex(i=>/^(where|for)$/i.test(i)),a=r<0?void 0:Z(n[r+1]??"");return{name:a&&`${a.objectType}:${a.objectId}`,areSubjects:n[r]?.toLowerCase()==="for"}}const si=async(t,n)=>{const r=ni(t,xe());return(r.isObject?await oi(r.word,n):ii(r)).map(s=>({...s,label:s.value,value:r.before+s.value,isPrefix:!0}))};function ii(t){const{relationsOf:n}=t,r=n&&(n.length>0?n.flatMap(i=>ft(i)):ft()),s=[...t.isType?xe():[],...(r??[]).toSorted(),...t.isAll?["*"]:[]].filter(i=>!t.named.includes(i));return[...new Set([...t.keywords.map(i=>`${i} `),...s])].filter(i=>i.startsWith(t.word)&&i!==t.word).map(i=>({value:i}))}async function oi(t,n){return(await ue(t.replaceAll('"',""),n)).map(a=>{const s=Z(a.value);return s?{...a,value:Ve(s)}:a})}const ci=50;function li(){const{q:t="",context:n="",next:r,prev:a,at:s}=O.value.parameters,[i,o]=m({q:t,context:n});Xt(()=>o({q:t,context:n}),[t,n]);const c=R(t?d=>On(t,n,{limit:ci,nextCursor:r,prevCursor:a,asOf:s},d):void 0,[t,n,r,a,s]),l=()=>C("queries",{q:i.q.trim(),context:i.context.trim()});return e("div",{class:"wide",children:[e("h1",{children:"Queries"}),e("form",{class:"card query",onSubmit:d=>{d.preventDefault(),l()},children:[e(B,{label:"Query",placeholder:"select document where user:ann is viewer",value:i.q,complete:si,onInput:d=>o(u=>({...u,q:d})),isRequired:!0,hint:e(v,{children:[e("code",{children:"select TYPES where TYPE:ID is RELATIONS"})," finds objects,"," ",e("code",{children:"select RELATIONS of type TYPES for TYPE:ID"})," finds subjects."]})}),e("details",{open:i.context!=="",children:[e("summary",{children:"Context for policies"}),e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:i.context,onInput:d=>o({...i,context:d.currentTarget.value})})]})]}),e("div",{class:"actions",children:e("button",{type:"submit",class:"primary",children:"Run"})})]}),!t&&e(ui,{}),c.fault&&e(T,{fault:c.fault,retry:c.reload}),t&&!c.value&&!c.fault&&e(A,{what:"Searching"}),c.value?.results.length===0&&e(q,{title:"Nothing has that.",children:e("p",{children:"A row is here exactly when a check of it is allowed."})}),c.value&&c.value.results.length>0&&e(di,{page:c.value,q:t,context:n,at:s})]})}function di({page:t,q:n,context:r,at:a}){const[s,i]=m(),[o,c]=m(""),{name:l,areSubjects:d}=ai(n);async function u(){i(void 0),c("Reading all rows…");try{const{rows:h,isCut:p}=await Xe(n,r,Ye,a);ke("results.json","application/json",`${JSON.stringify(h,null,2)}
`),c(p?`Saved the first ${h.length} rows: an export has no more.`:`Saved ${h.length} rows.`)}catch(h){if(!(h instanceof g))throw h;c(""),i(h)}}return e(v,{children:[e("div",{class:"heading",children:[e("h2",{children:"Results"}),e("div",{class:"actions",children:[e("span",{class:"hint",role:"status",children:o}),e("button",{type:"button",class:"quiet",onClick:u,children:"Export JSON"})]})]}),s&&e(T,{fault:s}),e(Xs,{rows:t.results,fixed:l,areSubjects:d,context:r,readLines:async h=>{const{rows:p,isCut:f}=await Xe(n,r,Ye,a,h);return{lines:Ir(p),isCut:f}}}),e(me,{page:t}),e(Zn,{forms:{curl:()=>er(bt(),"v2/query",{q:n,context:r?JSON.parse(r):void 0,asOf:a}),"a command":()=>{const h=r?JSON.parse(r):void 0;return Xn(bt(),n,h,a)}}})]})}function ui(){const t=pe.value?.filter(a=>Object.keys(a.relations).length>1).at(-1),n=t?Object.keys(t.relations)[0]:void 0;if(!t||!n)return e(q,{title:"There is nothing to query yet: the model has no relations.",children:[e("p",{children:["Write relations into the ",e("a",{href:S("model"),children:"model"}),", or start with an example: documents in folders, shared with people and groups."]}),e(Vt,{})]});const r=[[`select ${t.type} where user:ann is *`,`which objects of type ${t.type} ann has any relation on`],["select * where user:ann is *","everything that ann has access to"],[`select explicit ${t.type} where user:ann is ${n}`,"only what warrants give, without rules"]];return e(q,{title:"List objects, or subjects.",children:e("ul",{class:"starts",children:r.map(([a="",s])=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>C("queries",{q:a}),children:e("code",{children:a})}),e("span",{class:"hint",children:s})]},a))})})}function ut({what:t,text:n,onClose:r}){const[a,s]=m(!1),i=()=>navigator.clipboard.writeText(n).then(()=>s(!0),()=>s(!1));return e("div",{class:"notice",role:"status",children:[e("p",{children:[e("b",{children:t}),", shown only this once:"]}),e("p",{children:e("code",{class:"secret",children:n})}),e("div",{class:"actions",children:[navigator.clipboard!==void 0&&e("button",{type:"button",class:"quiet",onClick:()=>{i()},children:a?"Copied":"Copy"}),e("button",{type:"button",class:"quiet",onClick:r,children:"I have stored it"})]})]})}const hi=50,pi={check:"check access, and create sessions",query:"find objects and subjects",read:"read the model and the data, explain, compare",write:"create and delete warrants and objects",model:"change the model",events:"read the history",metrics:"read metrics",keys:"manage keys",webhooks:"manage webhooks, which get all changes",stores:"manage stores, and use all of them",admin:"all of these"};function Rn(){const{next:t,prev:n}=O.value.parameters,[r,a]=m(0),[s,i]=m(),[o,c]=m(),[l,d]=m(""),u=R(f=>E("v2/keys",{query:{limit:hi,nextCursor:t,prevCursor:n},signal:f}),[t,n,r]),h=()=>i(void 0);function p(f,b){c(b),d(f),a(w=>w+1)}return u.fault?e(T,{fault:u.fault,retry:u.reload}):u.value?e(v,{children:[e("div",{class:"actions",children:e("button",{type:"button",class:"primary",onClick:()=>i("create"),children:[e(he,{name:"plus"}),"New key"]})}),o&&e(ut,{what:`The key ${o.name}`,text:o.key,onClose:()=>c(void 0)}),l&&!o&&e(ee,{children:e("p",{children:l})}),u.value.results.length===0?e(q,{title:"There are no stored keys.",children:e("p",{children:"Callers share the key that was configured or generated, which may do everything. Give each its own, with the scopes that it needs: its name is beside its changes in the history, and it can be revoked alone."})}):e(mi,{keys:u.value.results,onOpen:i}),e(me,{page:u.value}),s==="create"&&e(fi,{onDone:p,onClose:h}),typeof s=="object"&&"revoke"in s&&e(bi,{of:s.revoke,onDone:p,onClose:h}),typeof s=="object"&&"rotate"in s&&e(vi,{of:s.rotate,onDone:p,onClose:h})]}):e(A,{what:"Reading keys"})}function mi({keys:t,onOpen:n}){return e(se,{label:"Keys",headings:["Name","Begins with","Scopes","Object types","Created","Last used","Expires"],hasActions:!0,children:t.map(r=>e("tr",{children:[e("td",{class:"name",children:r.name}),e("td",{children:e("code",{children:[r.prefix,"…"]})}),e("td",{children:r.scopes.join(", ")}),e("td",{children:r.objectTypes?.join(", ")??"all"}),e("td",{class:"time",children:[e(G,{time:r.createdAt})," by ",r.createdBy]}),e("td",{class:"time",children:r.lastUsedAt?e(G,{time:r.lastUsedAt}):"never"}),e("td",{class:"time",children:r.expiresAt?e(G,{time:r.expiresAt}):"never"}),e("td",{class:"row-actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>n({rotate:r}),children:["Rotate…",e("span",{class:"sr",children:[" ",r.name]})]}),e("button",{type:"button",class:"quiet",onClick:()=>n({revoke:r}),children:["Revoke…",e("span",{class:"sr",children:[" ",r.name]})]})]})]},r.id))})}function fi({onDone:t,onClose:n}){const[r,a]=m(""),[s,i]=m(["check"]),[o,c]=m([]),[l,d]=m("");async function u(){if(s.length===0)throw new g(400,"invalid","A key needs at least one scope");const h={name:r.trim(),scopes:s,...o.length>0?{objectTypes:o}:{},...l?{expiresAt:new Date(l).toISOString()}:{}},p=await $("v2/keys",{body:h});t(`Created the key ${p.name}.`,p)}return e(I,{title:"New key",action:"Create",onConfirm:u,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"key-name",children:"Name"}),e("input",{id:"key-name",type:"text",required:!0,maxLength:64,value:r,onInput:h=>a(h.currentTarget.value)}),e("span",{class:"hint",children:"It stands beside the changes of the key in the history."})]}),e(Bt,{legend:"Scopes",choices:Object.entries(pi),chosen:s,onChange:i}),e("details",{children:[e("summary",{children:"Limits"}),e(Bt,{legend:"Object types (none chosen: all)",choices:xe().map(h=>[h,""]),chosen:o,onChange:c}),e("div",{class:"field",children:[e("label",{for:"key-expires",children:"Expires at"}),e("input",{id:"key-expires",type:"datetime-local",value:l,onInput:h=>d(h.currentTarget.value)})]})]})]})}function Bt({legend:t,choices:n,chosen:r,onChange:a}){return e("fieldset",{class:"choices",children:[e("legend",{children:t}),n.map(([s,i])=>e("label",{children:[e("input",{type:"checkbox",checked:r.includes(s),onChange:o=>a(o.currentTarget.checked?[...r,s]:r.filter(c=>c!==s))}),e("span",{children:[e("b",{children:s})," ",i&&e("span",{class:"hint",children:i})]})]},s))]})}function bi({of:t,onDone:n,onClose:r}){async function a(){await $("v2/keys/"+encodeURIComponent(t.id),{method:"DELETE"}),n(`Revoked the key ${t.name}.`)}return e(I,{title:`Revoke ${t.name}?`,action:"Revoke",isDangerous:!0,onConfirm:a,onClose:r,children:e("p",{children:["Whoever uses ",e("code",{children:[t.prefix,"…"]})," is refused within a second. This cannot be undone. It was last used:"," ",t.lastUsedAt?re(t.lastUsedAt):"never","."]})})}function vi({of:t,onDone:n,onClose:r}){const[a,s]=m("3600");async function i(){const o={graceSeconds:Number(a)},c=await $(`v2/keys/${encodeURIComponent(t.id)}/rotate`,{body:o});n(`Rotated the key ${t.name}.`,c)}return e(I,{title:`Replace the secret of ${t.name}?`,action:"Rotate",onConfirm:i,onClose:r,children:e("div",{class:"field",children:[e("label",{for:"grace",children:"The old one stays valid for"}),e("select",{id:"grace",value:a,onChange:o=>s(o.currentTarget.value),children:[e("option",{value:"0",children:"no time: it is refused at once"}),e("option",{value:"3600",children:"an hour"}),e("option",{value:"86400",children:"a day"})]})]})})}const wi=/^(\w+)(?:\{(.*)\})? (\S+)$/,gi=/(\w+)="((?:[^"\\]|\\.)*)"/g;function yi(t,n){const r=[];for(const a of t.split(`
`)){const s=wi.exec(a);if(!s)continue;const i=Object.fromEntries([...(s[2]??"").matchAll(gi)].map(o=>[o[1]??"",o[2]??""]));r.push({name:s[1]??"",labels:i,value:Number(s[3])})}return{at:n,samples:r}}function ki(t,n){const r=t&&Math.max(n.at-t.at,.001),a=t?Ti(t,n):n.samples,s=(h,p)=>r&&K(h,p)/r,i=K(a,"magistrate_graph_hits_total"),o=i+K(a,"magistrate_graph_misses_total")+K(a,"magistrate_graph_given_up_total"),c=a.filter(h=>h.name===te&&/^5/.test(h.labels.status??"")),l=Gt(a),u=[...Gt(n.samples.filter(h=>h.name===te))].map(([h,p])=>{const f=l.get(h)??[];return{route:h,total:K(p,te),perSecond:s(f,te),...Ut(f)}});return{total:K(n.samples,te),perSecond:s(a,te),...Ut(a),cacheHits:o>0?i/o:void 0,statementsPerSecond:s(a,"magistrate_statements_total"),errorsPerSecond:s(c,te),refusedPerSecond:s(a,"magistrate_requests_shed_total"),cachedEntries:K(n.samples,"magistrate_graph_entries"),running:K(n.samples,"magistrate_requests_running"),waiting:K(n.samples,"magistrate_requests_waiting"),routes:u.sort((h,p)=>p.total-h.total||(h.route<p.route?-1:1))}}const te="magistrate_requests_total";function Gt(t){const n=new Map;for(const r of t){const a=ji(r),s=n.get(a);s?s.push(r):n.set(a,[r])}return n}function ji(t){return`${t.labels.method??""} ${t.labels.route||"other paths"}`}function K(t,n){return t.reduce((r,a)=>a.name===n?r+a.value:r,0)}function Ti(t,n){const r=s=>s.name+JSON.stringify(s.labels),a=new Map(t.samples.map(s=>[r(s),s.value]));return n.samples.map(s=>({...s,value:Math.max(s.value-(a.get(r(s))??0),0)}))}function Ut(t){const n=new Map;for(const i of t){if(i.name!=="magistrate_request_seconds_bucket")continue;const o=i.labels.le==="+Inf"?1/0:Number(i.labels.le);n.set(o,(n.get(o)??0)+i.value)}const r=[...n].sort(([i],[o])=>i-o),a=r.at(-1)?.[1]??0;if(a===0)return{};const s=i=>(r.find(([,o])=>o>=a*i)?.[0]??1/0)*1e3;return{p50Ms:s(.5),p99Ms:s(.99)}}const Ci=2e3,En=60,Si=50;function xi(){const[t,n]=m([]),[r,a]=m(),[s,i]=m(!1);if(D(()=>{if(s||r)return;const c=new AbortController;let l,d;const u=()=>{Ri(c.signal).then(h=>{if(c.signal.aborted)return;const p=ki(l,h);n(f=>[...f.filter(zt),p].slice(-En)),l=h,d=setTimeout(u,Ci)},h=>{if(!c.signal.aborted){if(!(h instanceof g))throw h;a(h)}})};return u(),()=>{c.abort(),clearTimeout(d)}},[s,r]),r)return e(T,{fault:r,retry:()=>a(void 0)});const o=t.at(-1);return o?e(v,{children:[e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet","aria-pressed":s,onClick:()=>i(!s),children:s?"Continue":"Pause"}),e("span",{class:"hint",role:"status",children:zt(o)?"Every two seconds, for all workers. The requests of this page count, too.":"Since the service was started, for all workers. What happens now follows in two seconds."})]}),e("dl",{class:"figures",children:[e(Q,{title:"Requests a second",value:ge(o.perSecond),points:t.map(c=>c.perSecond??0),children:[o.total.toLocaleString()," in all"]}),e(Q,{title:"p50",value:_e(o.p50Ms),points:t.map(c=>c.p50Ms??0)}),e(Q,{title:"p99",value:_e(o.p99Ms),points:t.map(c=>c.p99Ms??0)}),e(Q,{title:"Checks from the cache alone",value:o.cacheHits===void 0?"no checks":`${Math.round(o.cacheHits*100)} %`,points:t.map(c=>c.cacheHits??0)}),e(Q,{title:"Entries in the cache",value:o.cachedEntries.toLocaleString()}),e(Q,{title:"Statements a second",value:ge(o.statementsPerSecond)}),e(Q,{title:"Errors (5xx) a second",value:ge(o.errorsPerSecond)}),e(Q,{title:"Requests refused a second",value:ge(o.refusedPerSecond),children:[o.running," running, ",o.waiting," waiting"]})]}),e(Ai,{now:o})]}):e(A,{what:"Reading metrics"})}function zt(t){return t.perSecond!==void 0}function Q({title:t,value:n,points:r,children:a}){return e("div",{class:"card figure",children:[e("dt",{children:t}),e("dd",{children:n}),a&&e("dd",{class:"hint",children:a}),r&&e(Oi,{points:r})]})}function Oi({points:t}){const n=t.map(o=>Number.isFinite(o)?o:0),r=Math.max(...n,1e-9),a=120/(En-1),s=120-(n.length-1)*a,i=n.map((o,c)=>`${(s+c*a).toFixed(1)},${(27-25*o/r).toFixed(1)}`);return e("svg",{class:"line",viewBox:"0 0 120 28",preserveAspectRatio:"none","aria-hidden":"true",children:e("polyline",{points:i.join(" ")})})}function Ai({now:t}){return e(se,{label:"Routes",headings:["Route","Requests","A second","p50","p99"],children:t.routes.slice(0,Si).map(n=>e("tr",{children:[e("td",{class:"name",children:n.route}),e("td",{children:n.total.toLocaleString()}),e("td",{children:ge(n.perSecond)}),e("td",{children:_e(n.p50Ms)}),e("td",{children:_e(n.p99Ms)})]},n.route))})}async function Ri(t){const n=await(await Y("metrics",{accept:"text/plain",signal:t})).text();return yi(n,performance.now()/1e3)}function ge(t){return t===void 0?"–":t>=100?String(Math.round(t)):t.toFixed(1)}function _e(t){return t===void 0?"–":Number.isFinite(t)?`${Number(t.toPrecision(3))} ms`:"more than 10 s"}const Ei={900:"15 minutes",3600:"an hour",86400:"a day"};function $i(){const[t,n]=m(""),[r,a]=m("3600"),[s,i]=m(),[o,c]=m();async function l(d){d.preventDefault(),c(void 0);try{const u={type:"sess",userId:t.trim(),ttl:Number(r)},{token:h}=await $("v2/sessions",{body:u});i({user:t.trim(),token:h})}catch(u){if(!(u instanceof g))throw u;c(u)}}return e(v,{children:[s&&e(ut,{what:`A session of user:${s.user}`,text:s.token,onClose:()=>i(void 0)}),o&&e(T,{fault:o}),e("form",{class:"card",onSubmit:l,children:[e("h2",{children:"New session"}),e("p",{children:["A session is a token with which a user checks their own access, from a browser or an app: it is sent as"," ",e("code",{children:"Authorization: Bearer"}),". The service does not list sessions; ",e("code",{children:"magistrate sessions revoke"})," ends all of them."]}),e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"session-user",children:"User"}),e("input",{id:"session-user",type:"text",required:!0,placeholder:"kim",value:t,onInput:d=>n(d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"session-length",children:"Valid for"}),e("select",{id:"session-length",value:r,onChange:d=>a(d.currentTarget.value),children:Object.entries(Ei).map(([d,u])=>e("option",{value:d,children:u},d))})]}),e("button",{type:"submit",class:"primary",children:"Create"})]})]})]})}const Ii=[{name:"url",label:"URL",placeholder:"https://receiver.example/changes"},{name:"description",label:"Description"}],Ni=[{name:"objectType",label:"Object types",placeholder:"document, folder",hint:"Separate names by commas; none: all."},{name:"relation",label:"Relations",placeholder:"viewer"},{name:"subjectType",label:"Types of subjects",placeholder:"user"}],Mi=[{name:"of",label:"Access",placeholder:"document#viewer@user",hint:"Separate patterns by commas."}];function $n({fields:t,isOfAccess:n,onChange:r}){return e(v,{children:[...Ii,...n?Mi:Ni].map(({name:a,label:s,placeholder:i,hint:o})=>e("div",{class:"field",children:[e("label",{for:`webhook-${a}`,children:s}),e("input",{id:`webhook-${a}`,type:"text",inputMode:a==="url"?"url":void 0,spellcheck:!1,required:a==="url"||a==="of",maxLength:a==="description"?1e3:void 0,placeholder:i,"aria-describedby":o&&`webhook-${a}-hint`,value:t[a],onInput:c=>r({...t,[a]:c.currentTarget.value})}),o&&e("span",{class:"hint",id:`webhook-${a}-hint`,children:o})]},a))})}const qi={enabled:["yes","Enabled"],disabled:["unknown","Disabled"],gone:["no","Gone"],dead:["no","Dead"]};function In({webhook:t}){const{state:n,reason:r,attempts:a,nextAttemptAt:s}=t,[i,o]=n==="enabled"&&a?["unknown","Retrying"]:qi[n];return e(v,{children:[e(V,{tone:i,children:o}),a!==void 0&&n==="enabled"&&e("div",{class:"hint",children:[a===1?"An attempt":`${a} attempts`," failed",s&&`; the next one is at ${re(s)}`]}),r&&e("div",{class:"hint",children:r})]})}const Nn=[["of","access"],["objectType","type"],["relation","relation"],["subjectType","type of subject"]];function X(t,n=""){return`v2/webhooks/${encodeURIComponent(t)}${n&&`/${n}`}`}function Mn(t){return Nn.flatMap(([r,a])=>{const s=t[r];return s?[`${a} ${s.join(" or ")}`]:[]}).join(", ")||"all changes"}function tt(t){const n=r=>r?.join(", ")??"";return{url:t?.url??"",description:t?.description??"",of:n(t?.of),objectType:n(t?.objectType),relation:n(t?.relation),subjectType:n(t?.subjectType)}}function qn(t){const n={url:t.url.trim(),description:t.description.trim()||null};for(const[r]of Nn)n[r]=_i(t[r]);return n}function _i(t){const n=t.split(/[\s,]+/).filter(Boolean);return n.length>0?n:null}const ne={scope:"webhooks"},Li=25;function Di({id:t,onIssue:n}){const[r,a]=m(),[s,i]=m(),[o,c]=m(),[l,d]=m(!1),u=R(y=>Wi(t,y),[t]);async function h(y){d(!0),c(void 0),i(void 0);try{i(await y())}catch(_){if(!(_ instanceof g))throw _;c(_)}d(!1),u.reload()}function p(y){c(void 0),i(y),u.reload()}if(u.fault)return e(T,{fault:u.fault,retry:u.reload});if(!u.value)return e(A,{what:"Reading the webhook"});const{webhook:f,deliveries:b}=u.value,w={webhook:f,onDone:p,onClose:()=>a(void 0)},j=f.enabled;return e(v,{children:[e(Bi,{webhook:f}),e("div",{class:"actions",children:[e(N,{needs:ne,class:"quiet",disabled:l,onClick:()=>h(()=>Pi(t)),children:"Send a test"}),e(N,{needs:ne,class:"quiet",disabled:l,onClick:()=>h(()=>Fi(t,!j)),children:j?"Disable":"Enable"}),e(N,{needs:ne,class:"quiet",onClick:()=>a("edit"),children:"Edit…"}),e(N,{needs:ne,class:"quiet",onClick:()=>a("rotate"),children:"Rotate the secret…"}),e(N,{needs:ne,class:"quiet",onClick:()=>a({since:""}),children:"Replay…"}),e(N,{needs:ne,class:"quiet",onClick:()=>a("delete"),children:"Delete…"})]}),o&&e(T,{fault:o}),s&&e(ee,{children:e("p",{children:s})}),e(Gi,{deliveries:b,isLoading:u.isLoading,onReload:u.reload,onReplay:a}),r==="edit"&&e(Ui,{...w}),r==="rotate"&&e(zi,{...w,onIssue:n}),r==="delete"&&e(Ji,{...w}),typeof r=="object"&&e(Hi,{...w,since:r.since})]})}async function Wi(t,n){const[r,a]=await Promise.all([E(X(t),{signal:n}),E(X(t,"deliveries"),{signal:n})]);return{webhook:r,deliveries:a.results}}async function Pi(t){return e(_n,{delivery:await $(X(t,"test"),{method:"POST"})})}async function Fi(t,n){return await $(X(t),{method:"PATCH",body:{enabled:n}}),n?"Enabled. It goes on with the first change that it has not got.":"Disabled. What changes meanwhile is sent when it is enabled again."}function Bi({webhook:t}){return e("section",{class:"card","aria-label":"Webhook",children:[e("h2",{class:"name",children:t.url}),t.description&&e("p",{children:t.description}),e("dl",{class:"meta-list",children:[e(oe,{name:"State",children:e(In,{webhook:t})}),e(oe,{name:"Gets",children:Mn(t)}),e(oe,{name:"Created",children:[re(t.createdAt)," by ",t.createdBy]}),e(oe,{name:"Has everything up to",children:e("a",{href:S("data",{at:t.token}),children:"this write"})}),t.previousUntil&&e(oe,{name:"The secret before signs, too, until",children:re(t.previousUntil)}),t.skipped&&e(oe,{name:"Skipped, because they were not kept",children:["changes until ",re(t.skipped.time),", after ",e("a",{href:S("data",{at:t.skipped.after}),children:"this write"})]})]}),e("p",{children:e("a",{href:S("service",{show:"webhooks"}),children:"All webhooks"})})]})}function oe({name:t,children:n}){return e("div",{children:[e("dt",{children:t}),e("dd",{children:n})]})}function Gi({deliveries:t,isLoading:n,onReload:r,onReplay:a}){return e(v,{children:[e("div",{class:"heading",children:[e("h2",{children:"Deliveries"}),e("button",{type:"button",class:"quiet","aria-disabled":n,onClick:r,children:"Read again"})]}),t.length===0?e(q,{title:"Nothing was sent yet.",children:e("p",{children:"The last 100 attempts are listed here. Send a test to see whether the receiver answers."})}):e(se,{label:"Deliveries",headings:["Time","Result","Took","Attempt","Message"],hasActions:!0,children:t.map(s=>e("tr",{children:[e("td",{class:"time",children:e(G,{time:s.time,isExact:!0})}),e("td",{children:e(_n,{delivery:s})}),e("td",{class:"time",children:[Math.round(s.duration)," ms"]}),e("td",{children:s.attempt}),e("td",{children:e("code",{children:s.id})}),e("td",{class:"row-actions",children:e(N,{needs:ne,class:"quiet",onClick:()=>a({since:s.tokens[0]??""}),children:["Replay after this…",e("span",{class:"sr",children:[" ",s.id]})]})})]},s.time+s.id))})]})}function _n({delivery:{status:t,error:n}}){return e(v,{children:[e(V,{tone:n?"no":"yes",children:n?"Failed":"Delivered"})," ",n??(t!==void 0&&`The receiver answered ${t}.`)]})}function Ui({webhook:t,onDone:n,onClose:r}){const[a,s]=m(tt(t));async function i(){await $(X(t.id),{method:"PATCH",body:qn(a)}),n("Saved.")}return e(I,{title:"Edit the webhook",action:"Save",onConfirm:i,onClose:r,children:e($n,{fields:a,isOfAccess:t.of!==void 0,onChange:s})})}function zi({webhook:t,onDone:n,onClose:r,onIssue:a}){async function s(){a(await $(X(t.id,"rotate"),{body:{}})),n("Rotated the secret.")}return e(I,{title:"Replace the secret?",action:"Rotate",onConfirm:s,onClose:r,children:e("p",{children:"For 24 hours, messages are signed with both secrets, so that the receiver can change over."})})}function Ji({webhook:t,onClose:n}){async function r(){await $(X(t.id),{method:"DELETE"}),C("service",{show:"webhooks"})}return e(I,{title:"Delete the webhook?",action:"Delete",isDangerous:!0,onConfirm:r,onClose:n,children:e("p",{children:["Nothing is sent to ",e("span",{class:"name",children:t.url})," any more. This cannot be undone."]})})}function Hi({webhook:t,since:n,onDone:r,onClose:a}){const[s,i]=m(n),o=tr(Ki,[]);async function c(){await $(X(t.id,"replay"),{body:{since:s.trim()}}),r("Everything after that write is sent again.")}return e(I,{title:"Send changes again",action:"Replay",onConfirm:c,onClose:a,children:e(B,{label:"After the write",value:s,placeholder:"token of a write",complete:o,onInput:i,isRequired:!0,hint:"Everything that was written after it is sent again, in order. Choose the first change to send, or give a token."})})}function Ki(){let t;return async n=>Se({scope:"events"})?[]:(t??=Vi(),(await t).filter(({value:r,label:a})=>`${r} ${a}`.includes(n)))}async function Vi(){const{revisions:t}=await Zt(void 0).readMore(Li,new AbortController().signal);return t.flatMap(n=>n.before===void 0?[]:[{value:n.before,label:nr(n),hint:ce(n.createdAt)}])}const Yi=50;function Qi(){const{id:t}=O.value.parameters,[n,r]=m(),a=n!==void 0&&n.id===t;return e(v,{children:[a&&e(ut,{what:"The secret that signs",text:n.secret,onClose:()=>r(void 0)}),t===void 0?e(Zi,{onIssue:r}):e(Di,{id:t,onIssue:r},t)]})}function Zi({onIssue:t}){const{next:n,prev:r}=O.value.parameters,[a,s]=m(!1),i=R(o=>E("v2/webhooks",{query:{limit:Yi,nextCursor:n,prevCursor:r},signal:o}),[n,r]);return i.fault?e(T,{fault:i.fault,retry:i.reload}):i.value?e(v,{children:[e("div",{class:"actions",children:e(N,{needs:{scope:"webhooks"},class:"primary",onClick:()=>s(!0),children:[e(he,{name:"plus"}),"New webhook"]})}),i.value.results.length===0?e(q,{title:"There are no webhooks.",children:e("p",{children:"A webhook is a URL to which changes are sent as they are made, signed and in order: for caches, search indexes and audit systems that have to react."})}):e(Xi,{webhooks:i.value.results}),e(me,{page:i.value}),a&&e(eo,{onIssue:t,onClose:()=>s(!1)})]}):e(A,{what:"Reading webhooks"})}function Xi({webhooks:t}){return e(se,{label:"Webhooks",headings:["URL","Gets","State","Created"],children:t.map(n=>e("tr",{children:[e("td",{children:[e("a",{class:"name",href:S("service",{show:"webhooks",id:n.id}),children:n.url}),n.description&&e("div",{class:"hint",children:n.description})]}),e("td",{children:Mn(n)}),e("td",{children:e(In,{webhook:n})}),e("td",{class:"time",children:[e(G,{time:n.createdAt})," by ",n.createdBy]})]},n.id))})}function eo({onIssue:t,onClose:n}){const[r,a]=m(tt()),[s,i]=m(""),[o,c]=m(!1);function l(u){c(u),a({...tt(),url:r.url,description:r.description})}async function d(){const u={...qn(r),secret:s.trim()||void 0},h=await $("v2/webhooks",{body:u});t(h),C("service",{show:"webhooks",id:h.id})}return e(I,{title:"New webhook",action:"Create",onConfirm:d,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"webhook-gets",children:"Gets"}),e("select",{id:"webhook-gets",value:String(o),onChange:u=>l(u.currentTarget.value==="true"),children:[e("option",{value:"false",children:"what is written"}),e("option",{value:"true",children:"access that is gained and lost"})]})]}),e($n,{fields:r,isOfAccess:o,onChange:a}),e("details",{children:[e("summary",{children:"Secret"}),e("div",{class:"field",children:[e("label",{for:"webhook-secret",children:"A secret that signs"}),e("input",{id:"webhook-secret",type:"password",autocomplete:"off",spellcheck:!1,placeholder:"whsec_…",value:s,onInput:u=>i(u.currentTarget.value)}),e("span",{class:"hint",children:"Leave it empty to have one generated, which is shown once."})]})]})]})}const Ke={keys:{title:"Keys",body:Rn,needs:{scope:"keys",ofAllTypes:!0}},sessions:{title:"Sessions",body:$i,needs:{scope:"check",ofAllTypes:!0}},webhooks:{title:"Webhooks",body:Qi,needs:{scope:"webhooks",ofAllTypes:!0}},metrics:{title:"Metrics",body:xi,needs:{scope:"metrics"}}};function to(){const{show:t="keys"}=O.value.parameters,n=t in Ke?t:"keys",{body:r=Rn,needs:a}=Ke[n]??{};return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Service"}),e("nav",{class:"tabs","aria-label":"Parts of the service",children:Object.entries(Ke).map(([s,{title:i}])=>e("a",{href:S("service",{show:s}),"aria-current":s===n?"page":void 0,children:i},s))})]}),e(en,{needs:a,children:e(r,{})},n)]})}const no=300,ro=4194304;function ao(){const t=ye.value;return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Tests"}),e(so,{text:t})]}),t?e(io,{text:t}):e(uo,{})]})}function so({text:t}){const[n,r]=m(),[a,s]=m(""),[i,o]=m(!1),c=L(null);async function l(p){r(void 0),s("");try{s(await p())}catch(f){if(!(f instanceof g))throw f;r(f)}}async function d(){return ke("model.test.yaml","application/yaml",await lr(t)),"Saved. The command magistrate model test runs this file."}async function u(){const p=await dr(t);ke("playground.test.yaml","application/yaml",p.text);const f=p.isCut?`; a file has ${ur} at most, so the others are missing`:"";return`Saved with ${p.warrants} warrants${f}. The command magistrate playground opens this file.`}async function h(p){if(!p)return"";if(p.size>ro)throw new g(400,"invalid","The file is larger than 4 MiB");return ye.value=await p.text(),`Opened ${p.name}.`}return e(v,{children:[e("div",{class:"actions",children:[e("input",{ref:c,type:"file",class:"sr",tabIndex:-1,"aria-label":"Test file",accept:".yaml,.yml,.json",onChange:p=>{const f=p.currentTarget;l(()=>h(f.files?.[0])).then(()=>f.value="")}}),e("button",{type:"button",class:"quiet",onClick:()=>c.current?.click(),children:"Open a file…"}),t&&e(v,{children:[e("button",{type:"button",class:"quiet",onClick:()=>l(d),children:"Download"}),e("button",{type:"button",class:"quiet",onClick:()=>o(!0),children:"Clear…"})]}),e("button",{type:"button",class:"quiet",onClick:()=>l(u),children:"Download with all warrants"})]}),e("p",{class:"hint",role:"status",children:a}),n&&e(T,{fault:n}),i&&e(I,{title:"Remove all tests?",action:"Remove",isDangerous:!0,onConfirm:()=>(ye.value="",Promise.resolve()),onClose:()=>o(!1),children:e("p",{children:"They are in this tab alone. Download them first if you need them again."})})]})}function io({text:t}){const[n,r]=m(t);D(()=>{const s=setTimeout(()=>r(t),no);return()=>clearTimeout(s)},[t]);const a=R(s=>E("v2/model/test",{text:n,signal:s}),[n]);return e("div",{class:"tests",children:[e("div",{class:"field",children:[e("label",{for:"tests",children:"Test file"}),e("textarea",{id:"tests",class:"code",rows:24,wrap:"off",spellcheck:!1,value:t,onInput:s=>ye.value=s.currentTarget.value}),e("span",{class:"hint",children:["Without ",e("code",{children:"model"}),", the model of the service is tested. Stored warrants do not count, only those under"," ",e("code",{children:"setup"}),". The file is kept in this tab until you close it or sign out."]})]}),e("section",{class:"card results","aria-label":"Results","aria-live":"polite","aria-busy":a.isLoading,children:[a.fault&&e(T,{fault:a.fault,retry:a.reload}),!a.value&&!a.fault&&e(A,{what:"Running the tests"}),a.value&&e(oo,{run:a.value})]})]})}function oo({run:t}){if(t.results.length===0)return e("p",{children:"There are no tests in the file yet."});const n=t.results.filter(a=>!a.passed),r=t.results.filter(a=>a.passed);return e(v,{children:[e("p",{class:"sentence-line",children:[e(V,{tone:t.failed?"no":"yes",children:t.failed?"Failed":"Passed"})," ",e("b",{children:[t.passed," passed, ",t.failed," failed"]})]}),e("ul",{class:"test-list",children:[...n,...r].map((a,s)=>e(co,{result:a},s))})]})}function co({result:t}){const{name:n,passed:r,failure:a,explanation:s}=t;return e("li",{children:[e(V,{tone:r?"yes":"no",children:r?"Passed":"Failed"})," ",e("span",{class:"name",children:n}),a&&e("p",{class:"failure",children:a}),s&&e(lo,{explanation:s})]})}function lo({explanation:t}){const n=t.decision==="allowed",r=t.wouldAllow?.[0],a=Le(t.check);return e("details",{children:[e("summary",{children:["Why it is ",t.decision]}),n&&e(rr,{links:ar(t.path??[]),label:"What allows it"}),!n&&sr(t).map((s,i)=>e("p",{children:s.sentence},i)),r&&e(v,{children:[e("p",{class:"hint",children:"This would allow it:"}),e("ul",{class:"changes",children:ir(r).map(s=>e("li",{children:[e("span",{class:`verb ${s.verb}`,children:s.verb})," ",e("code",{children:s.what})]},s.verb+s.what))}),e("p",{class:"hint effects",children:or(r)})]}),e("details",{children:[e("summary",{children:"Every step"}),e(cr,{root:t.because})]}),a&&e("p",{children:e("a",{href:S("why",{subject:Te(a.subject),relation:a.relation,object:k(a)}),children:"The same check of what is stored"})})]})}function uo(){const t=pe.value?.find(a=>Object.keys(a.relations).length>0),n=t&&Object.keys(t.relations).at(-1),r=()=>{const a=JSON.stringify(`${t?.type??"document"}:example#${n??"viewer"}@user:nobody`);ye.value=`setup:
  warrants: []
tests:
  - {name: somebody else, check: ${a}, expect: false}
`};return e(q,{title:"There are no tests yet.",children:[e("p",{children:["A test is a check with the answer that you expect. ",e("a",{href:S("why"),children:"Explain a check"})," or"," ",e("a",{href:S("queries"),children:"run a query"}),", and pin what must stay as it is: each pinned check comes with the warrants that it depends on. The tests are run at each change of the file, with the current model."]}),e("p",{children:e("button",{type:"button",class:"primary",onClick:r,children:"Start with an example"})})]})}const ho=8,po=40,mo=[{name:"Why",hint:"explain a check",run:()=>C("why")},{name:"Objects",hint:"page",run:()=>C("data")},{name:"Warrants",hint:"page",run:()=>C("data",{show:"warrants"})},{name:"Queries",hint:"page",run:()=>C("queries"),needs:{scope:"query"}},{name:"History",hint:"page",run:()=>C("history"),needs:{scope:"events"}},{name:"Live",hint:"changes as they are made",run:()=>C("live"),needs:{scope:"events"}},{name:"Model",hint:"page",run:()=>C("model"),needs:{scope:"read",ofAllTypes:!0}},{name:"Tests",hint:"page",run:()=>C("tests"),needs:{scope:"read",ofAllTypes:!0}},{name:"Keys",hint:"page of the service",run:()=>C("service")},{name:"Sessions",hint:"page of the service",run:()=>C("service",{show:"sessions"})},{name:"Webhooks",hint:"page of the service",run:()=>C("service",{show:"webhooks"})},{name:"Metrics",hint:"page of the service",run:()=>C("service",{show:"metrics"})}],fo=[{name:"New warrant",hint:"action",run:()=>C("data",{show:"warrants",open:"warrant"}),needs:{scope:"write"},isChange:!0},{name:"New object",hint:"action",run:()=>C("data",{open:"object"}),needs:{scope:"write"},isChange:!0},{name:"Import a file",hint:"action",run:()=>C("data",{open:"file"}),needs:{scope:"write"},isChange:!0},{name:"Change the colours",hint:"action",run:hr},{name:"Sign out",hint:"action",run:()=>pr()}];async function bo(t,n){const r=t.trim(),a=vo(r),s=wo(r),i=r?go(r):[],o=r?await yo(r,n):[],c=new Set(o.map(l=>l.name));return[...s.filter(l=>!c.has(l.name)),...o,...a,...i].slice(0,po)}function vo(t){const n=t.toLowerCase();return[...mo,...fo].filter(({needs:s,isChange:i})=>(!s||!Se(s))&&!(i&&U.value!==void 0)).filter(({name:s})=>s.toLowerCase().includes(n)).toSorted((s,i)=>Number(i.name.toLowerCase().startsWith(n))-Number(s.name.toLowerCase().startsWith(n)))}function wo(t){const n=Le(t);if(n){const{subject:a,relation:s}=n;return[{name:t,hint:"explain this check",run:()=>C("why",{subject:Te(a),relation:s,object:k(n)})}]}if(/^select\s/i.test(t)&&!Se({scope:"query"}))return[{name:t,hint:"run this query",run:()=>C("queries",{q:t})}];const r=Z(t);return r?[{name:k(r),hint:"object or subject",run:()=>C("object",{name:k(r)})}]:[]}function go(t){return Se({scope:"read",ofAllTypes:!0})?[]:(pe.value??[]).flatMap(({type:r,relations:a})=>[r,...Object.keys(a).map(s=>`${r}#${s}`)]).filter(r=>r.includes(t)).toSorted((r,a)=>Number(a.startsWith(t))-Number(r.startsWith(t))).map(r=>({name:r,hint:"in the model",run:()=>C("model",{of:r})}))}async function yo(t,n){const r=t.indexOf(":"),s={objectType:r>=0?t.slice(0,r):M.value?.[0],q:r>=0?t.slice(r+1):t,limit:ho,asOf:U.value},{results:i}=await E("v2/objects",{query:s,signal:n});return i.map(o=>{const c=k(o);return{name:c,hint:Yt(o.meta)??"object or subject",run:()=>C("object",{name:c})}})}const ko=100;function jo(){return tn.value==="shortcuts"?e(Co,{}):e(To,{})}function Ln(){const t=L(null);return D(()=>t.current?.showModal(),[]),t}function Dn(){tn.value=void 0}function To(){const t=Ln(),[n,r]=m(""),[a,s]=m([]),[i,o]=m(0),c=L(null);D(()=>{const u=new AbortController,h=setTimeout(()=>{bo(n,u.signal).then(p=>{u.signal.aborted||(s(p),o(0))},p=>{if(!u.signal.aborted&&(s([]),!(p instanceof g)))throw p})},n?ko:0);return()=>{clearTimeout(h),u.abort()}},[n]),D(()=>{c.current?.children[i]?.scrollIntoView({block:"nearest"})},[i]);function l(u){u&&(t.current?.close(),u.run())}function d(u){const p={ArrowDown:1,ArrowUp:-1}[u.key];p!==void 0&&a.length>0?(u.preventDefault(),o((i+p+a.length)%a.length)):u.key==="Enter"&&(u.preventDefault(),l(a[i]))}return e("dialog",{ref:t,class:"palette","aria-label":"Go to or do",onClose:Dn,children:[e("input",{type:"text",class:"code",role:"combobox","aria-label":"Go to or do","aria-expanded":a.length>0,"aria-controls":"commands","aria-activedescendant":a.length>0?`command-${i}`:void 0,autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"an object, a page, a check, a query or an action",value:n,onInput:u=>r(u.currentTarget.value),onKeyDown:d}),e("ul",{class:"options",id:"commands",role:"listbox","aria-label":"Found",ref:c,children:a.map((u,h)=>e("li",{id:`command-${h}`,role:"option","aria-selected":h===i,onClick:()=>l(u),children:[e("span",{class:"name",children:u.name}),e("span",{class:"hint",children:u.hint})]},u.name+u.hint))}),a.length===0&&e("p",{class:"hint",children:"Nothing is called that."})]})}function Co(){const t=Ln();return e("dialog",{ref:t,class:"palette","aria-labelledby":"shortcuts-title",onClose:Dn,children:[e("h2",{id:"shortcuts-title",children:"Shortcuts"}),e("dl",{class:"shortcuts",children:mr.map(([n,r])=>e("div",{children:[e("dt",{children:n.split(" ").map(a=>e("kbd",{children:a},a))}),e("dd",{children:r})]},n))}),e("div",{class:"actions",children:e("button",{type:"button",class:"quiet",onClick:()=>t.current?.close(),children:"Close"})})]})}const xo=Object.freeze(Object.defineProperty({__proto__:null,DataPage:aa,HistoryPage:es,LivePage:gs,ModelPage:Es,ObjectPage:Hs,Palette:jo,QueriesPage:li,ServicePage:to,TestsPage:ao,loadExample:Or},Symbol.toStringTag,{value:"Module"}));export{xo as p,ke as s};
