import{r as R,w as E,l as lt,a as Be,b as Y,c as Ae,d as k,R as v,e as f,T as D,f as e,C as N,g as A,h as j,A as L,F as C,s as he,i as oe,k as fe,j as U,m as V,n as B,o as Xn,u as x,B as I,$ as g,E as Re,p as nn,q as me,t as rn,v as ee,x as er,S as an,O as le,y as S,z as _,D as H,G as Ie,H as J,I as dt,J as ge,N as re,K as $,L as M,M as $e,P as ae,Q as sn,U as on,V as De,W as cn,X as _e,Y as ze,Z as tr,_ as nr,a0 as rr,a1 as ln,a2 as ar,a3 as sr,a4 as W,a5 as ir,a6 as or,a7 as dn,a8 as un,a9 as nt,aa as cr,ab as Ct,ac as ce,ad as lr,ae as te,af as Ce,ag as P,ah as St,ai as dr,aj as ur,ak as Le,al as hr,am as pr,an as fr,ao as Se,ap as mr,aq as br,ar as gr,as as vr,at as wr,au as yr,av as kr,aw as jr,ax as Tr,ay as Cr,az as Sr,aA as hn,aB as xr}from"./console.js";const Or=`name: agents with tasks of their own, whose approvals start empty, and which delegate parts of them
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
`,Ar=`version 1.0

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
`,Rr=`name: repositories of an organization, its nested teams, outside collaborators and protected branches
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
`,Ir=`version 1.0

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
`,$r=`name: documents in folders, shared with people, groups and everyone, and kept from some
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
`,Er=`// lint: ignore direct_permission
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
`,Nr=`name: two companies in one application, with roles that mean something only within one of them
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
`,_r=`version 1.0

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
`,Mr=/warrants:\n((?:\s+- .*\n)+)/,qr=/- '?(.*?)'?$/gm,Dr=/^(.*?)(?:\[(.*)\])?$/,Lr={"document-sharing":{model:Er,tests:$r},"multi-tenant-rbac":{model:_r,tests:Nr},"code-hosting":{model:Ir,tests:Rr},agents:{model:Ar,tests:Or}};async function Wr(t,n){const{model:r,tests:a}=Lr[t],{objectTypes:s}=await R("v2/model/convert",{text:r,accept:"application/json"});n&&!s.some(({type:c})=>c==="user")&&s.unshift({type:"user",relations:{}}),await E("v2/object-types",{method:"PUT",query:n?{replace:"true"}:{},body:s});const[,i=""]=Mr.exec(a)??[],o=[...i.matchAll(qr)].map(([,c=""])=>Pr(c));await E("v2/writes",{body:{create:{warrants:o}}}),await lt()}function Pr(t){const[,n="",r]=Dr.exec(t)??[],a=Be(n);if(!a)throw new Error(`the example has a warrant that cannot be read: ${t}`);return r?{...a,policy:r}:a}const Fr=1e3,rt=1e4;async function ut(t,n=rt){const r=[];let a;do{const s=await t({limit:Fr,nextCursor:a});r.push(...s.results),a=s.nextCursor}while(a&&r.length<n);return{rows:r.slice(0,n),isCut:a!==void 0||r.length>n}}function Gr(t){return t.map(n=>n.map(Ur).join(",")).join(`\r
`)+`\r
`}function Ur(t){const n=/^(?:\s*[=+\-@＝＋－＠]|[\t\r\n])/.test(t)?`'${t}`:t;return/[",\r\n]/.test(n)?`"${n.replaceAll('"','""')}"`:n}function Br(t){const n=t.map(r=>[r.objectType,r.objectId+(r.subjectRelation?`#${r.subjectRelation}`:""),r.relation,String(r.isImplicit),r.warrant?Y(r.warrant):""]);return[["type","id","relation","implicit","warrant"],...n]}function zr(t){const n=t.map(r=>[k(r),r.meta?JSON.stringify(r.meta):"",r.createdAt??""]);return[["object","meta","created"],...n]}function Hr(t){const n=t.map(r=>[Ae(r.subject),r.relation,k(r),r.policy??"",r.startsAt??"",r.expiresAt??"",r.createdAt??""]);return[["subject","relation","object","policy","from","until","created"],...n]}function Jr(t){return Array.from(t.rows,r=>Array.from(r.cells).filter(a=>!a.matches(".row-actions, .actions-heading"))).map(r=>r.map(Kr))}function Kr(t){if(t.dataset.text!==void 0)return t.dataset.text;const n=t.cloneNode(!0);for(const r of n.querySelectorAll("time"))r.textContent=r.dateTime;return(n.textContent??"").replace(/\s+/g," ").trim()}function xe(t,n,r){const a=URL.createObjectURL(new Blob([r],{type:n})),s=document.createElement("a");s.href=a,s.download=t,s.click(),setTimeout(()=>URL.revokeObjectURL(a),0)}const Yr=500,Vr=/^(.*?)\[(.*)\]$/s;function Zr(t){if(t.trimStart().startsWith("[")){const n=xt(t,0);if(Array.isArray(n))return n.map((r,a)=>Ot(r,a+1))}return t.split(`
`).flatMap((n,r)=>{const a=n.trim();return a===""||a.startsWith("#")?[]:a.startsWith("{")?[Ot(xt(a,r+1),r+1)]:[{number:r+1,warrant:pn(a,r+1)}]})}function xt(t,n){try{return JSON.parse(t)}catch{throw We(n,"it is not valid JSON")}}function pn(t,n){const[,r=t,a]=Vr.exec(t)??[],s=Be(r);if(!s)throw We(n,"write a warrant like document:plan#viewer@user:ann, or as JSON");return a?{...s,policy:a}:s}function Ot(t,n){if(typeof t=="string")return{number:n,warrant:pn(t,n)};if(typeof t=="object"&&t!==null){if("relation"in t)return{number:n,warrant:t};if("objectId"in t)return{number:n,object:t};if("relations"in t)throw We(n,"it is an object type; the page Model writes those")}throw We(n,"it is neither a warrant nor an object")}function We(t,n){return new v(400,"invalid",t>0?`Line ${t}: ${n}`:n)}async function Qr(t,n,r){const a={done:0,of:t.length,created:0,unchanged:0};for(n({...a});a.done<t.length&&!r();){const s=t.slice(a.done,a.done+Yr),i=await Xr(s);a.done+=s.length,a.created+=i.created,a.unchanged+=i.unchanged,n({...a})}return a}async function Xr(t){const n=t.filter(s=>s.warrant),r=t.filter(s=>s.object),a={...n.length>0?{warrants:n.map(s=>s.warrant)}:{},...r.length>0?{objects:r.map(s=>s.object)}:{}};try{return await E("v2/writes",{body:{create:a}})}catch(s){if(!(s instanceof v))throw s;const i=/(warrants|objects)\[(\d+)\]/.exec(s.parameter),o=i&&(i[1]==="warrants"?n:r)[Number(i[2])];throw o?new v(s.status,s.code,`Line ${o.number}: ${s.message}`):s}}const ea=67108864;function ta({onDone:t,onClose:n}){const[r,a]=f(),[s,i]=f(),o=D(!1);async function c(){if(!r)throw new v(400,"invalid","Choose a file first");if(r.size>ea)throw new v(400,"invalid","The file is larger than 64 MiB; the command magistrate import takes files of any size");i(void 0);const l=await Qr(Zr(await r.text()),i,()=>o.current),d=l.done<l.of?`Stopped after ${l.done} of ${l.of} lines`:`Imported ${l.of} lines`;t(`${d}: ${l.created} were new, ${l.unchanged} were there already.`)}return e(N,{title:"Import a file",action:"Import",onConfirm:c,onClose:()=>{o.current=!0,n()},children:[e("div",{class:"field",children:[e("label",{for:"import-file",children:"File"}),e("input",{id:"import-file",type:"file",required:!0,onChange:l=>a(l.currentTarget.files?.[0])}),e("span",{class:"hint",children:["A line for each warrant, ",e("code",{children:"document:plan#viewer@user:ann"}),", or JSON: warrants and objects as the lists of the API have them. 500 lines are written at a time, all or none. If a line is wrong, correct it and import the file again: what is there already stays as it is."]})]}),s&&e("div",{class:"field",children:[e("label",{for:"import-progress",children:[s.done," of ",s.of," lines"]}),e("progress",{id:"import-progress",max:s.of,value:s.done})]})]})}function ve({page:t}){const{page:n,parameters:r}=A.value;return!t.prevCursor&&!t.nextCursor?null:e("nav",{class:"pager","aria-label":"Pages",children:[e("button",{type:"button",class:"quiet",disabled:!t.prevCursor,onClick:()=>j(n,{...r,prev:t.prevCursor,next:void 0}),children:"Previous"}),e("button",{type:"button",class:"quiet",disabled:!t.nextCursor,onClick:()=>j(n,{...r,next:t.nextCursor,prev:void 0}),children:"Next"})]})}function fn({label:t,table:n,readLines:r}){const[a,s]=f(),[i,o]=f(""),[c,l]=f(!1),d=D(void 0);L(()=>()=>d.current?.abort(),[]);async function u(){return r?(d.current=new AbortController,r(d.current.signal)):{lines:n.current?Jr(n.current):[],isCut:!1}}async function h(){if(!c){s(void 0),o(r?"Reading all rows…":""),l(!0);try{const{lines:p,isCut:m}=await u();xe(`${t.toLowerCase().replace(/[^a-z0-9]+/g,"-")}.csv`,"text/csv",Gr(p));const b=(p.length-1).toLocaleString();o(m?`Saved the first ${b} rows: an export has no more.`:`Saved ${b} rows.`)}catch(p){if(d.current?.signal.aborted)return;if(!(p instanceof v))throw p;o(""),s(p)}finally{l(!1)}}}return e("div",{class:"export",children:[e("span",{class:"hint",role:"status",children:i}),e("button",{type:"button",class:"quiet","aria-disabled":c,onClick:h,children:["Export CSV",e("span",{class:"sr",children:[" of ",t]})]}),a&&e(C,{fault:a})]})}function Q({label:t,headings:n,hasActions:r,readLines:a,children:s}){const i=D(null);return e("div",{class:"exported",children:[e("div",{class:"scrolled",tabIndex:0,role:"region","aria-label":t,children:e("table",{ref:i,children:[e("thead",{children:e("tr",{children:[n.map(o=>e("th",{scope:"col",children:o},o)),r&&e("th",{scope:"col",class:"actions-heading",children:e("span",{class:"sr",children:"Actions"})})]})}),e("tbody",{children:s})]})}),e(fn,{label:t,table:i,readLines:a})]})}function z({time:t,isExact:n=!1}){return e("time",{dateTime:t,title:t,children:n?he(t):oe(t)})}const na=1e3,pe=1e3,ra=5;function He({objectType:t,objectId:n}){return`v2/objects/${encodeURIComponent(t)}/${encodeURIComponent(n)}`}async function mn(t,n,r){const a=await V(t,{query:n,signal:r});return{value:await a.json(),token:a.headers.get("Warrant-Token")??""}}function Pe(t,n){return mn(He(t),{},n)}async function Fe(t,n){const r=new Map,{objectType:a,objectId:s}=t;let i;for(const c of[{objectType:a,objectId:s},{subjectType:a,subjectId:s}]){let l;do{const d={...c,limit:na,nextCursor:l,asOf:i},u=await mn("v2/warrants",d,n);i??=u.token;for(const h of u.value.results)aa(h,t)&&r.set(U(h),h);l=u.value.nextCursor}while(l&&r.size<=pe)}const o=[...r.values()];return{value:{warrants:o.slice(0,pe),isCut:o.length>pe},token:i??""}}function aa({objectType:t,objectId:n,subject:r},a){return t===a.objectType&&n===a.objectId||r.objectType===a.objectType&&r.objectId===a.objectId}async function Je(t,n,r,a){let{token:s}=t;for(let i=1;;i+=1){try{await E("v2/writes",{body:{preconditions:[{revision:s}],...r}});return}catch(c){if(!(c instanceof v)||c.code!=="precondition_failed"||i===ra)throw c}const o=await n();if(JSON.stringify(o.value)!==JSON.stringify(t.value))throw new v(409,"changed",a);s=o.token}}function sa(t,n,r){const{objectType:a,meta:s}=t,i={objectType:a,objectId:t.objectId},o=l=>l.objectType===a&&l.objectId===i.objectId?{...l,objectId:r}:l,c=n.map(l=>{const{startsAt:d,expiresAt:u}=l,h=o(fe(l));return{...h,subject:o(h.subject),...d?{startsAt:d}:{},...u?{expiresAt:u}:{}}});return{delete:{warrants:n.map(fe),objects:[i]},create:{objects:[{objectType:a,objectId:r,...s?{meta:s}:{}}],warrants:c}}}function bn(t){if(!t.trim())return{};try{const n=JSON.parse(t);if(typeof n=="object"&&n!==null&&!Array.isArray(n))return n}catch(n){throw new v(400,"invalid",`The meta is not JSON: ${n instanceof Error?n.message:""}`)}throw new v(400,"invalid",'The meta must be a JSON object, as in {"name": "Roadmap"}')}function ht(t){return`Somebody else has just changed ${k(t)} or a warrant that names it. Nothing was written; look at it again`}const At=pe/2-1,Ve=5;function gn({text:t,onInput:n}){return e("div",{class:"field",children:[e("label",{for:"meta",children:"Meta"}),e("textarea",{id:"meta",class:"code",rows:Math.min(Math.max(t.split(`
`).length,4),14),spellcheck:!1,placeholder:'{"name": "Roadmap"}',"aria-describedby":"meta-hint",value:t,onInput:r=>n(r.currentTarget.value)}),e("span",{class:"hint",id:"meta-hint",children:"A JSON object. It is shown and searched, and decides nothing."})]})}function ia({type:t="",onClose:n}){const[r,a]=f({type:t,id:"",meta:""}),s=D(void 0);async function i(){const o=bn(r.meta),c=r.type.trim(),l=r.id.trim();if(l){const d={objectType:c,objectId:l};await oa(d,o),s.current=d}else s.current=await E("v2/objects",{body:{objectType:c,meta:o}})}return e(N,{title:"New object",action:"Create",isReady:r.type.trim()!=="",onConfirm:i,onClose:()=>{n(),s.current&&j("object",{name:k(s.current)})},children:[e(B,{label:"Type",placeholder:"document",value:r.type,complete:Xn,onInput:o=>a(c=>({...c,type:o})),isRequired:!0}),e("div",{class:"field",children:[e("label",{for:"object-id",children:"Id"}),e("input",{id:"object-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"roadmap","aria-describedby":"object-id-hint",value:r.id,onInput:o=>a({...r,id:o.currentTarget.value})}),e("span",{class:"hint",id:"object-id-hint",children:"Leave it empty for an id that the service makes."})]}),e(gn,{text:r.meta,onInput:o=>a({...r,meta:o})})]})}async function oa(t,n){try{await E("v2/writes",{body:{preconditions:[{absent:t}],create:{objects:[{...t,meta:n}]}}})}catch(r){throw!(r instanceof v)||r.code!=="precondition_failed"?r:new v(400,"exists",`${k(t)} exists already`)}}function ca({object:t,onDone:n,onClose:r}){const[a,s]=f(),i=x(d=>Pe(t,d),[k(t)]),o=i.value,c=a??(o?JSON.stringify(o.value.meta??{},null,2):"");async function l(){if(!o)return;const d={create:{objects:[{...t,meta:bn(c)}]}};await Je(o,()=>Pe(t),d,ht(t)),n(`Saved the meta of ${k(t)}.`)}return e(N,{title:`Meta of ${k(t)}`,action:"Save",isReady:o!==void 0,onConfirm:l,onClose:r,children:[i.fault&&e(C,{fault:i.fault,retry:i.reload}),!o&&!i.fault&&e(I,{what:"Reading the object"}),o&&e(gn,{text:c,onInput:s})]})}function la({object:t,onDone:n,onClose:r}){const a=k(t),s=x(c=>Fe(t,c),[a]),i=s.value;async function o(){i&&(i.value.isCut?await E(He(t),{method:"DELETE"}):await Je(i,()=>Fe(t),{delete:{objects:[t]}},ht(t)),n(`Deleted ${a}.`))}return e(N,{title:`Delete ${a}?`,action:"Delete",isDangerous:!0,isReady:i!==void 0,onConfirm:o,onClose:r,children:[s.fault&&e(C,{fault:s.fault,retry:s.reload}),!i&&!s.fault&&e(I,{what:"Finding what ends with it"}),i&&e(g,{children:[e(vn,{warrants:i.value.warrants,isCut:i.value.isCut,verb:"delete"}),i.value.isCut?e("p",{children:"These are too many to say who loses access."}):i.value.warrants.length>0&&e(Re,{proposal:{create:[],delete:i.value.warrants.map(fe)}}),e("p",{class:"hint",children:["Access through a wildcard, such as ",t.objectType,":*, ends with it, too. The history keeps all of it."]})]})]})}const da={delete:"with it",move:"with it, and are made anew for the new id"};function vn({warrants:t,isCut:n,verb:r}){if(t.length===0)return e("p",{children:"No warrant names it."});const a=n?`More than ${t.length.toLocaleString()}`:t.length.toLocaleString();return e(g,{children:[e("p",{children:[a," ",t.length===1?"warrant names it and ends":"warrants name it and end"," ",da[r],":"]}),e("ul",{class:"changes",children:[t.slice(0,Ve).map(s=>e("li",{children:[e("span",{class:`verb ${r}`,children:r})," ",e("code",{children:U(s)})]},U(s))),t.length>Ve&&e("li",{class:"hint",children:["and ",(t.length-Ve).toLocaleString()," more"]})]})]})}function ua({object:t,onClose:n}){const r=k(t),[a,s]=f(t.objectId),[i,o]=f(!1),c=D(!1),l=x(w=>Rt(t,w),[r]),d=l.value,u=a.trim(),h=d!==void 0&&d.value.naming.warrants.length>At,p=d&&sa(d.value.stored,d.value.naming.warrants,u),m=u!==""&&u!==t.objectId;async function b(){if(!d||!p)return;const w={objectType:t.objectType,objectId:u};await ha(w),await Je(d,()=>Rt(t),p,ht(t)),c.current=!0}return e(N,{title:`Rename ${r}`,action:"Rename",isReady:m&&d!==void 0&&!h,onConfirm:b,onClose:()=>{n(),c.current&&j("object",{name:`${t.objectType}:${u}`})},children:[l.fault&&e(C,{fault:l.fault,retry:l.reload}),!d&&!l.fault&&e(I,{what:"Finding what names it"}),e("div",{class:"field",children:[e("label",{for:"new-id",children:"New id"}),e("input",{id:"new-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,required:!0,value:a,onInput:w=>{s(w.currentTarget.value),o(!1)}})]}),d&&h&&e("p",{children:["More than ",At," warrants name it, too many for one write. Create the object with its new id, copy the warrants with"," ",e("code",{children:"magistrate export"})," and ",e("code",{children:"magistrate import"}),", and delete this one."]}),d&&p&&!h&&e(g,{children:[e(vn,{warrants:d.value.naming.warrants,isCut:!1,verb:"move"}),i?e(Re,{proposal:{create:p.create.warrants,delete:p.delete.warrants}}):d.value.naming.warrants.length>0&&e("button",{type:"button",class:"quiet",disabled:!m,onClick:()=>o(!0),children:"What would it change?"}),e("p",{class:"hint",children:["It is one write: the object with its meta, and every warrant, all or none. Applications that know it by its old id find nothing any more.",d.value.naming.warrants.some(w=>w.policy?.includes("expiresIn"))&&" Conditions with expiresIn count from now, when the warrants are made anew."]})]})]})}async function Rt(t,n){const r=await Pe(t,n),a=await Fe(t,n);return{value:{stored:r.value,naming:a.value},token:r.token}}async function ha(t){try{await Pe(t)}catch(n){if(n instanceof v&&n.status===404)return;throw n}throw new v(400,"exists",`${k(t)} exists already: choose an id that is free`)}const pa=rn();function wn({object:t="",subject:n="",onDone:r,onClose:a}){const[s,i]=f({object:t,relation:"",subject:n,policy:"",expires:""}),[o,c]=f(),l=p=>m=>{c(void 0),i(b=>({...b,[p]:m}))};function d(){const p=ee(s.object),m=er(s.subject);if(!p)throw new v(400,"invalid","The object must be written type:id, as in document:roadmap");if(!m)throw new v(400,"invalid","The subject must be written type:id or type:id#relation");const b={...p,relation:s.relation.trim(),subject:m};return s.policy.trim()&&(b.policy=s.policy.trim()),s.expires&&(b.expiresAt=new Date(s.expires).toISOString()),b}async function u(){const p=d();await E("v2/warrants",{body:p}),r(`Created ${Y(p)}.`)}function h(){try{c(d())}catch(p){if(!(p instanceof v))throw p;c(void 0)}}return e(N,{title:"New warrant",action:"Create",onConfirm:u,onClose:a,children:[e(B,{label:"Subject",placeholder:"user:kim or group:eng#member",value:s.subject,complete:nn,onInput:l("subject"),isRequired:!0}),e(B,{label:"Relation",placeholder:"viewer",value:s.relation,complete:pa,onInput:l("relation"),isRequired:!0}),e(B,{label:"Object",placeholder:"document:roadmap",value:s.object,complete:me,onInput:l("object"),isRequired:!0}),e("details",{children:[e("summary",{children:"Conditions"}),e("div",{class:"field",children:[e("label",{for:"policy",children:"Policy"}),e("input",{id:"policy",type:"text",class:"code",placeholder:'network == "office"',value:s.policy,onInput:p=>l("policy")(p.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"expires",children:"Expires at"}),e("input",{id:"expires",type:"datetime-local",value:s.expires,onInput:p=>l("expires")(p.currentTarget.value)})]})]}),o?e(Re,{proposal:{create:[o],delete:[]}}):e("button",{type:"button",class:"quiet",onClick:h,disabled:!s.object||!s.relation||!s.subject,children:"What would it change?"})]})}function fa({warrant:t,onDone:n,onClose:r}){const a=fe(t);async function s(){await E("v2/warrants",{method:"DELETE",body:a}),n(`Deleted ${Y(t)}.`)}return e(N,{title:"Delete this warrant?",action:"Delete",isDangerous:!0,onConfirm:s,onClose:r,children:[e("ul",{class:"changes",children:e("li",{children:[e("span",{class:"verb delete",children:"delete"})," ",e("code",{children:Y(t)})]})}),e(Re,{proposal:{create:[],delete:[a]}})]})}function yn({warrants:t,onDone:n,readLines:r}){const[a,s]=f();return e(g,{children:[e(Q,{label:"Warrants",headings:["Subject","Relation","Object","Condition","Created"],hasActions:!0,readLines:r,children:t.map(i=>e("tr",{children:[e("td",{children:e(an,{subject:i.subject})}),e("td",{children:e("b",{children:i.relation})}),e("td",{children:e(le,{object:i})}),e("td",{children:e(ma,{warrant:i})}),e("td",{class:"time",children:i.createdAt&&e(z,{time:i.createdAt})}),e("td",{class:"row-actions",children:[!i.subject.relation&&i.subject.objectId!=="*"&&i.objectId!=="*"&&e("a",{href:S("why",{subject:k(i.subject),relation:i.relation,object:k(i)}),children:["Why",e("span",{class:"sr",children:[" ",Y(i)]})]}),e(_,{needs:{scope:"write"},class:"quiet",onClick:()=>s(i),children:["Delete…",e("span",{class:"sr",children:[" ",Y(i)]})]})]})]},Y(i)+(i.policy??"")))}),a&&e(fa,{warrant:a,onDone:n,onClose:()=>s(void 0)})]})}function ma({warrant:t}){return e(g,{children:[t.policy&&e("code",{children:t.policy}),t.startsAt&&e("span",{class:"hint",children:["from ",e(z,{time:t.startsAt})," "]}),t.expiresAt&&e("span",{class:"hint",children:["until ",e(z,{time:t.expiresAt})]})]})}const kn=50,we={scope:"write"},pt={next:void 0,prev:void 0};function ba(){const t=A.value.parameters.show==="warrants",{open:n}=A.value.parameters,[r,a]=f();L(()=>{n&&(H.value===void 0&&!Ie(we)&&a(n),J({open:void 0}))},[n]);const[s,i]=f("");return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Data"}),e("nav",{class:"tabs","aria-label":"Kinds of data",children:[e("a",{href:S("data"),"aria-current":t?void 0:"page",children:"Objects"}),e("a",{href:S("data",{show:"warrants"}),"aria-current":t?"page":void 0,children:"Warrants"})]}),e("div",{class:"actions",children:[e(dt,{needs:we}),e(_,{needs:we,class:"quiet",onClick:()=>a("file"),children:"Import a file…"}),e(_,{needs:we,class:"quiet",onClick:()=>a("object"),children:"New object"}),e(_,{needs:we,class:"primary",onClick:()=>a("warrant"),children:[e(ge,{name:"plus"}),"New warrant"]})]})]}),s&&e(re,{children:e("p",{children:s})}),t?e(ka,{turn:s,onDone:i}):e(ga,{turn:s}),r==="object"&&e(ia,{type:A.value.parameters.type,onClose:()=>a(void 0)}),r==="warrant"&&e(wn,{onDone:i,onClose:()=>a(void 0)}),r==="file"&&e(ta,{onDone:i,onClose:()=>a(void 0)})]})}function ga({turn:t}){const{type:n=$.value?.[0],q:r,sort:a,order:s,next:i,prev:o,at:c}=A.value.parameters,l=(h,p)=>{const m={objectType:n,q:r,sortBy:a,sortOrder:s,asOf:c,...h};return R("v2/objects",{query:m,signal:p})},d=async h=>{const{rows:p,isCut:m}=await ut(b=>l(b,h));return{lines:zr(p),isCut:m}},u=x(h=>l({limit:kn,nextCursor:i,prevCursor:o},h),[n,r,a,s,i,o,c,t]);return e(g,{children:[e("form",{class:"filters",onSubmit:h=>h.preventDefault(),children:[e(ja,{label:"Type",name:"type",value:n}),e("div",{class:"field",children:[e("label",{for:"q",children:"Contains"}),e("input",{id:"q",type:"search",value:r??"",placeholder:"a part of the id or the meta",onChange:h=>J({q:h.currentTarget.value||void 0,...pt})})]}),e(jn,{sorts:{objectId:"Id",createdAt:"Created"}})]}),u.fault&&e(C,{fault:u.fault,retry:u.reload}),!u.value&&!u.fault&&e(I,{what:"Reading objects"}),u.value?.results.length===0&&e(va,{isFiltered:!!(n||r),onLoaded:u.reload}),u.value&&u.value.results.length>0&&e(g,{children:[e(wa,{objects:u.value.results,readLines:d}),e(ve,{page:u.value})]})]})}function va({isFiltered:t,onLoaded:n}){return t?e(M,{title:"No object has all of this."}):ae.value?.length===0?e(M,{title:"There are no objects yet.",children:[e("p",{children:["First, a ",e("a",{href:S("model"),children:"model"})," says which types of objects there are. Write one, or start with an example: documents in folders, shared with people and groups."]}),e(sn,{onDone:n})]}):e(M,{title:"There are no objects yet.",children:e("p",{children:"A warrant creates the objects that it names. Start with a new warrant, or import a file of warrants and objects."})})}function wa({objects:t,readLines:n}){return e(Q,{label:"Objects",headings:["Object","Meta","Created"],readLines:n,children:t.map(r=>e("tr",{children:[e("td",{children:e(le,{object:r})}),e("td",{class:"meta",children:on(r.meta)}),e("td",{class:"time",children:e(z,{time:r.createdAt})})]},k(r)))})}const ya=rn();function ka({turn:t,onDone:n}){const r=A.value.parameters,{object:a="",relation:s="",subject:i="",order:o,next:c,prev:l,at:d}=r,[u,h]=f({object:a,relation:s,subject:i}),p=(y,q)=>{const F=ee(a),G=ee(i),Ee={objectType:F?.objectType??(a.replace(/:$/,"")||$.value?.[0]),objectId:F?.objectId,relation:s,subjectType:G?.objectType??(i.replace(/:$/,"")||void 0),subjectId:G?.objectId,sortOrder:o,asOf:d,...y};return R("v2/warrants",{query:Ee,signal:q})},m=async y=>{const{rows:q,isCut:F}=await ut(G=>p(G,y));return{lines:Hr(q),isCut:F}},b=x(y=>p({limit:kn,nextCursor:c,prevCursor:l},y),[a,s,i,o,c,l,d,t]),w=y=>{j("data",{show:"warrants",order:o,...u,...y})},T=!!(a||s||i);return e(g,{children:[e("form",{class:"filters",onSubmit:y=>{y.preventDefault(),w({})},children:[e(B,{label:"Subject",placeholder:"any",value:u.subject,complete:me,onInput:y=>h({...u,subject:y}),onChoose:y=>w({subject:y})}),e(B,{label:"Relation",placeholder:"any",value:u.relation,complete:ya,onInput:y=>h({...u,relation:y}),onChoose:y=>w({relation:y})}),e(B,{label:"Object",placeholder:$.value?`any ${$.value[0]}`:"any",value:u.object,complete:me,onInput:y=>h({...u,object:y}),onChoose:y=>w({object:y})}),e(jn,{sorts:{createdAt:"Created"}}),e("button",{type:"submit",class:"quiet",children:"Filter"})]}),b.fault&&e(C,{fault:b.fault,retry:b.reload}),!b.value&&!b.fault&&e(I,{what:"Reading warrants"}),b.value?.results.length===0&&e(M,{title:T?"No warrant has all of this.":"There are no warrants yet.",children:e("p",{children:T?"Leave a field empty to see more. This lists what is written; what rules give is under Queries.":"A warrant gives a subject a relation on an object, as in: user:kim is viewer of document:roadmap."})}),b.value&&b.value.results.length>0&&e(g,{children:[e(yn,{warrants:b.value.results,onDone:n,readLines:m}),e(ve,{page:b.value})]})]})}function ja({label:t,name:n,value:r}){const a=$.value??$e();return e("div",{class:"field",children:[e("label",{for:n,children:t}),e("select",{id:n,value:r??"",onChange:s=>J({[n]:s.currentTarget.value||void 0,...pt}),children:[!$.value&&e("option",{value:"",children:"all"}),r&&!a.includes(r)&&e("option",{value:r,children:r}),a.map(s=>e("option",{value:s,children:s},s))]})]})}function jn({sorts:t}){const{sort:n=Object.keys(t)[0],order:r="ASC"}=A.value.parameters;return e("div",{class:"field",children:[e("label",{for:"order",children:"Order"}),e("select",{id:"order",value:`${n} ${r}`,onChange:a=>{const[s,i]=a.currentTarget.value.split(" ");J({sort:s,order:i,...pt})},children:Object.entries(t).flatMap(([a,s])=>[e("option",{value:`${a} ASC`,children:[s,", ascending"]},`${a} ASC`),e("option",{value:`${a} DESC`,children:[s,", descending"]},`${a} DESC`)])})]})}function Ta({count:t,onSubmit:n,children:r}){const[a,s]=f(!1);return e("form",{class:a?"filters":"filters folded",onSubmit:i=>{i.preventDefault(),n?.()},children:[e("button",{type:"button",class:"quiet unfold","aria-expanded":a,onClick:()=>s(!a),children:a?"Hide the filters":t>0?`Filters (${t})`:"Filters"}),r]})}const Ca=[["history","Past changes"],["live","Live"]];function Tn(){return e("nav",{class:"tabs","aria-label":"Changes",children:Ca.map(([t,n])=>e("a",{href:S(t),"aria-current":t===A.value.page?"page":void 0,children:n},t))})}const It=2,Sa=4e6;function Cn(t,n){const[r,a]=[t.split(`
`),n.split(`
`)];let s=0;for(;s<r.length&&s<a.length&&r[s]===a[s];)s+=1;let i=0;for(;i<r.length-s&&i<a.length-s&&r.at(-1-i)===a.at(-1-i);)i+=1;const o=xa(r.slice(s,r.length-i),a.slice(s,a.length-i));if(o===void 0)return;const c=l=>({sign:" ",text:l});return Oa([...r.slice(0,s).map(c),...o,...r.slice(r.length-i).map(c)])}function xa(t,n){const r=n.length+1;if((t.length+1)*r>Sa)return;const a=new Uint32Array((t.length+1)*r),s=(l,d)=>a[l*r+d]??0;for(let l=t.length-1;l>=0;l-=1)for(let d=n.length-1;d>=0;d-=1){const u=Math.max(s(l+1,d),s(l,d+1));a[l*r+d]=t[l]===n[d]?s(l+1,d+1)+1:u}const i=[];let[o,c]=[0,0];for(;o<t.length||c<n.length;){const[l,d]=[t[o],n[c]];l!==void 0&&l===d?(i.push({sign:" ",text:l}),[o,c]=[o+1,c+1]):l!==void 0&&(d===void 0||s(o+1,c)>=s(o,c+1))?(i.push({sign:"-",text:l}),o+=1):(i.push({sign:"+",text:d??""}),c+=1)}return i}function Oa(t){const n=new Set;for(const[r,{sign:a}]of t.entries())if(a!==" ")for(let s=r-It;s<=r+It;s+=1)n.add(s);return t.flatMap((r,a)=>n.has(a)?[r]:n.has(a-1)&&t.slice(a).some(s=>s.sign!==" ")?[{sign:" ",text:""}]:[])}const Ke="text/plain",Aa=100;async function Oe(t,n){const r=await V("v2/model",{accept:Ke,query:{asOf:n},signal:t});return{text:await r.text(),token:r.headers.get("Service-Token")??""}}async function Ra(t){return(await V("v2/model/convert",{text:t,accept:Ke})).text()}const Ia=/299 - "([^"]*)"/g;async function $a(t,n){const a=await V("v2/model/convert",{text:t,accept:Ke,query:n?{leaveOut:"true"}:{}}),s=[...(a.headers.get("Warning")??"").matchAll(Ia)].map(([,i=""])=>i);return{text:await a.text(),notes:s}}async function Ea(t,n){const r=Na(await R("v2/model/convert",{text:t,accept:"application/json",signal:n})),[a,s,i,o]=await Promise.all([Oe(n),R("v2/model/plan",{text:t,signal:n}),_a(r,n),V("v2/model/convert",{body:r,accept:Ke,signal:n}).then(c=>c.text())]);return{newest:a,plan:s,access:i,lines:Cn(a.text,o)}}function Na({objectTypes:t,policies:n}){const r=(a,s)=>+(a>s)-+(a<s);return{objectTypes:t.toSorted((a,s)=>r(a.type,s.type)),policies:n.toSorted((a,s)=>r(a.name,s.name))}}async function _a(t,n){try{const r={proposal:{...t,replace:!0},limit:Aa};return await R("v2/difference",{body:r,signal:n})}catch(r){if(r instanceof v&&r.status===400)return r;throw r}}async function Ma(t,n,r){await E("v2/model",{method:"PUT",text:t,query:r?{keepExisting:"true"}:{},headers:{"If-Match":`"${n}"`}})}function Sn({warrants:t={}}){return[...t.created??[],...t.deleted??[],...t.expired??[]]}function qa({objects:t={}}){return[...t.created??[],...t.updated??[],...t.deleted??[]]}function Da(t,n,r,a){const s={actions:[],kept:[]};for(const o of Sn(t))La(o,n,r,a,s);const i=new Set(s.actions.flatMap(({verb:o,what:c})=>o==="delete"&&"warrant"in c?[U(c.warrant)]:[]));for(const o of t.objects?.created??[])Wa(o,r,i,s);for(const o of t.objects?.updated??[])$t(o,!1,n,r,s);for(const o of t.objects?.deleted??[])$t(o,!0,n,r,s);return s}function La(t,n,r,a,{actions:s,kept:i}){const o=U(t);if(s.some(({what:u})=>"warrant"in u&&U(u.warrant)===o))return;const c=n.warrants.get(o),l=r.warrants.get(o),d=c?.expiresAt!==void 0&&Date.parse(c.expiresAt)<=a;if(c&&d)i.push({name:o,reason:"would have expired by now"});else if(c&&!l)s.push({verb:"create",what:{warrant:Ze(c)}});else if(c&&l&&!Et(c,l))s.push({verb:"change",what:{warrant:Ze(c)},note:"to the time limits that it had"});else if(!c&&l){const u=Et(t,l)?void 0:"its time limits were changed since";s.push({verb:"delete",what:{warrant:Ze(l)},note:u})}else i.push({name:o,reason:c?"exists again":"is deleted already"})}function Wa(t,n,r,{actions:a,kept:s}){const i=k(t),o=n.objects.get(i);o?xn(t,o)?n.naming.get(i)?.some(c=>!r.has(c))?s.push({name:i,reason:"is named by other warrants now"}):a.push({verb:"delete",what:{object:o}}):s.push({name:i,reason:"was changed since"}):s.push({name:i,reason:"is deleted already"})}function $t(t,n,r,a,{actions:s,kept:i}){const o=k(t),c=r.objects.get(o),l=a.objects.get(o);c&&(!l&&!n?i.push({name:o,reason:"does not exist any more"}):l?xn(c,l)?i.push({name:o,reason:"is as it was"}):s.push({verb:"change",what:{object:c},note:"to the meta that it had"}):s.push({verb:"create",what:{object:c}}))}function Ze(t){const{startsAt:n,expiresAt:r}=t;return{...fe(t),...n?{startsAt:n}:{},...r?{expiresAt:r}:{}}}function Et(t,n){return t.startsAt===n.startsAt&&t.expiresAt===n.expiresAt}function xn(t,n){return JSON.stringify(t.meta??{})===JSON.stringify(n.meta??{})}function On(t,n){const r=o=>t.flatMap(c=>c.verb===o&&"warrant"in c.what?[c.what.warrant]:[]),a=o=>t.flatMap(c=>c.verb===o&&"object"in c.what?[c.what.object]:[]),s=new Set(r("delete").map(U)),i=a("delete").filter(o=>n.get(k(o))?.every(c=>s.has(c))??!0);return{delete:{warrants:r("delete").map(fe),objects:i.map(({objectType:o,objectId:c})=>({objectType:o,objectId:c}))},create:{warrants:[...r("create"),...r("change")],objects:[...a("create"),...a("change")].map(({objectType:o,objectId:c,meta:l})=>({objectType:o,objectId:c,meta:l??{}}))}}}const Pa=8388608,An=200,Nt=8,Fa=1e3,Ga=["access_granted","access_revoked"];async function Ua(t,n){const r=cn(t),a=[["v2/resource-events",void 0],...Ga.map(c=>["v2/access-events",c])],s=_e(t);return(await Promise.all(a.map(async([c,l])=>{for(const d of[r,r-1]){const h=await R(c??"",{query:{type:l,until:d,limit:100},signal:n}),p=h.results.find(m=>_e(m)<s);if(p||!h.nextCursor)return p}}))).filter(c=>c!==void 0).sort((c,l)=>_e(l)-_e(c))[0]?.token}async function Ba(t,n,r){const a=new AbortController,s=await V("v2/watch",{query:{since:t},accept:"application/x-ndjson",signal:AbortSignal.any([r,a.signal])});try{return await za(s,n)}finally{a.abort()}}async function za(t,n){const r=t.body?.pipeThrough(new TextDecoderStream).getReader();let a="";for(let s=await r?.read();s&&!s.done;s=await r?.read()){a+=s.value;const i=a.split(`
`);a=i.pop()??"";for(const o of i){const c=JSON.parse(o);if(c.event==="revision"&&c.token===n)return c}if(a.length>Pa)throw ft()}throw new v(410,"gone","The stream of changes does not have this one any more")}function ft(){return new v(400,"too_large",`It changed more than can be reverted here, which is ${pe.toLocaleString()} warrants and objects`)}async function _t(t,n,r){const a=r??new AbortController().signal,s=await Ba(t,n,a),[i,o]=[Sn(s),qa(s)];if(i.length+o.length>pe||o.length>An)throw ft();const c=(await V("v2/objects",{query:{limit:1},signal:a})).headers.get("Warrant-Token")??"",l={warrants:await Mt(i,t,a),objects:await Dt(o,t,a)},d={warrants:await Mt(i,c,a),objects:await Dt(o,c,a)},u=new Map;await mt(s.objects?.created??[],async p=>{const{value:m}=await Fe(p,a);u.set(k(p),m.warrants.map(U))});const h={...d,naming:u};return{value:{...Da(s,l,h,Date.now()),naming:u},token:c}}async function Mt(t,n,r){const a=qt(t,({objectType:l,objectId:d})=>({objectType:l,objectId:d})),s=qt(t,({subject:l})=>({subjectType:l.objectType,subjectId:l.objectId})),i=a.length<=s.length?a:s;if(i.length>An)throw ft();const o=new Set(t.map(U)),c=new Map;return await mt(i,async l=>{let d;do{const u={...l,limit:Fa,nextCursor:d,asOf:n},h=await R("v2/warrants",{query:u,signal:r});for(const p of h.results)o.has(U(p))&&c.set(U(p),p);d=h.nextCursor}while(d)}),c}function qt(t,n){return[...new Map(t.map(r=>[JSON.stringify(n(r)),n(r)])).values()]}async function Dt(t,n,r){const a=new Map;return await mt(t,async s=>{try{const{objectType:i,objectId:o,meta:c}=await R(He(s),{query:{asOf:n},signal:r});a.set(k(s),{objectType:i,objectId:o,...c?{meta:c}:{}})}catch(i){if(!(i instanceof v)||i.status!==404)throw i}}),a}async function mt(t,n){for(let r=0;r<t.length;r+=Nt)await Promise.all(t.slice(r,r+Nt).map(n))}function Lt(t){return!De(t)&&t.kind!=="object"}async function Ha(t,n,r){const[a,s]=await Promise.all([n,void 0].map(d=>R("v2/model",{query:{asOf:d},accept:"application/json",signal:r})));if(!a||!s)throw new Error("two models were requested");const i=d=>new Set(t.flatMap(u=>!De(u)&&u.kind===d?[u.resourceId]:[])),o=i("object-type"),c=i("named-policy"),l={objectTypes:[...s.objectTypes.filter(d=>!o.has(d.type)),...a.objectTypes.filter(d=>o.has(d.type))],policies:[...s.policies.filter(d=>!c.has(d.name)),...a.policies.filter(d=>c.has(d.name))]};return(await V("v2/model/convert",{body:l,accept:"text/plain",signal:r})).text()}const Ja={created:"plus",updated:"model",deleted:"no",expired:"history"};function Wt({change:{verb:t,what:n}}){return e("li",{class:t,children:[e("span",{class:"sign",children:[e(ge,{name:Ja[t]}),t]}),"warrant"in n?e("span",{children:["warrant: ",e(ze,{warrant:n.warrant})]}):"object"in n?e("span",{children:["object ",e(le,{object:n.object})]}):e("span",{children:[n.kind," ",e("span",{class:"name",children:n.name})]})]})}const Me=3;function Rn({changes:t,count:n=t.length}){return e(g,{children:[e("ul",{class:"events",children:t.slice(0,Me).map((r,a)=>e(Wt,{change:r},a))}),n>Me&&e("details",{children:[e("summary",{children:[(n-Me).toLocaleString()," more in this change"]}),e("ul",{class:"events",children:t.slice(Me).map((r,a)=>e(Wt,{change:r},a))}),n>t.length&&e("p",{class:"hint",children:["The other ",(n-t.length).toLocaleString()," are not listed here."]})]})]})}const Ka={"+":"added: ","-":"removed: "," ":""};function In({lines:t}){return e("div",{class:"changed-lines",tabIndex:0,role:"region","aria-label":"Changed lines",children:t.map(({sign:n,text:r},a)=>e("div",{class:n==="+"?"added":n==="-"?"removed":void 0,children:[e("span",{"aria-hidden":"true",children:[n," "]}),e("span",{class:"sr",children:Ka[n]}),r]},a))})}const Ya=50;function $n({before:t,token:n}){const[r,a]=f([]),[s,i]=f(),o=x(c=>R("v2/difference",{query:{from:t,to:n,limit:Ya,nextCursor:s},signal:c}),[t,n,s]);return L(()=>{const c=o.value;c&&a(l=>[...l,...c.results])},[o.value]),o.fault?e(C,{fault:o.fault,retry:o.reload}):o.value?o.value.results.length===0&&r.length===0?e("p",{class:"hint",children:"Nobody gained or lost access."}):e(g,{children:[e(tr,{rows:r}),o.value.nextCursor&&e("button",{type:"button",class:"quiet",disabled:o.isLoading,onClick:()=>i(o.value?.nextCursor),children:"Show more"})]}):e(I,{what:"Comparing access"})}const Va=/(^|[^/])\/\/(?!\/)/m,Qe=5;function En({text:t,base:n,onSaved:r,onClose:a}){const s=x(u=>Ea(t,u),[t]),[i,o]=f(!1),c=s.value,l=c!==void 0&&c.plan.stranded.length>0&&!i;async function d(){if(c){try{await Ma(t,c.newest.token,i)}catch(u){if(!(u instanceof v)||u.status!==412)throw u;s.reload();const h="Somebody else has just changed the model. Nothing was saved, and your text is still here";throw new v(412,u.code,h)}r()}}return e(N,{title:"Save this model?",action:"Save",isReady:c!==void 0&&!s.isLoading&&!l&&!Nn(c),onConfirm:d,onClose:a,children:[s.fault&&e(C,{fault:s.fault,retry:s.reload}),!c&&!s.fault&&e(I,{what:"Finding what it would change"}),c&&e(g,{children:[c.newest.text!==n.text&&e(re,{children:e("p",{children:[e("strong",{children:"Somebody else has changed the model since you opened it."})," What you see here is compared with the model as it is now: lines that you did not change are changes of somebody else, which yours would undo."]})}),e(Za,{review:c}),Va.test(t)&&e("p",{class:"hint",children:["Comments (",e("code",{children:"//"}),") are not stored with the model; descriptions (",e("code",{children:"///"}),") are."]}),c.plan.stranded.length>0&&e(Xa,{review:c,isKept:i,onKeep:o}),e("section",{class:"effect-of-model",children:[e("h3",{children:"Access"}),c.access instanceof v?e("p",{children:["It is not known who gains and who loses: ",c.access.message,"."]}):e(nr,{rows:c.access.results,hasMore:c.access.nextCursor!==void 0})]})]})]})}function Nn({plan:t}){return[t.objectTypes,t.policies].every(n=>Object.values(n).every(r=>r.length===0))}function Za({review:t}){if(Nn(t))return e("p",{children:"Nothing would change: the service has this model."});const{plan:n,lines:r}=t;return e(g,{children:[e("ul",{class:"changes",children:[e(Pt,{kind:"object type",changes:n.objectTypes}),e(Pt,{kind:"policy",changes:n.policies})]}),r?e(In,{lines:r}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})]})}const Qa=[["created","create"],["changed","change"],["deleted","delete"]];function Pt({kind:t,changes:n}){return e(g,{children:Qa.map(([r,a])=>n[r].map(s=>e("li",{children:[e("span",{class:`verb ${a}`,children:a})," ",e("span",{children:[t," ",e("span",{class:"name",children:s})]})]},r+s)))})}function Xa({review:t,isKept:n,onKeep:r}){const{stranded:a,more:s}=t.plan;return e("div",{class:"notice fault",role:"alert",children:[e("p",{children:e("strong",{children:[s?`More than ${a.length}`:a.length," ",a.length===1&&!s?"warrant is":"warrants are"," not allowed by this model:"]})}),e("ul",{children:[a.slice(0,Qe).map(i=>e("li",{children:e("code",{children:Y(i)})},Y(i))),a.length>Qe&&e("li",{children:["and ",s?"more":`${a.length-Qe} more`]})]}),e("p",{children:"Delete them first, allow them, or keep them: they stay stored, and count again when a model allows them."}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:n,onChange:i=>r(i.currentTarget.checked)}),"Keep them without effect"]})]})}const es="Somebody else has just changed what this would revert. Nothing was written; look at it again";function ts({revision:t,findBefore:n,onDone:r,onClose:a}){const{token:s}=t,i=x(async b=>{const w=await n(b);return{before:w,seen:await _t(w,s,b)}},[s]),[o,c]=f(new Set),l=i.value,d=l?.seen.value.actions??[],u=d.filter(b=>!o.has(ye(b))),h=l?.seen.value.naming??new Map;async function p(){if(!l)return;const b=On(u,h);await Je(l.seen,()=>_t(l.before,s),as(b),es),r(`Reverted ${u.length===1?"one change":`${u.length.toLocaleString()} changes`}.`)}function m(b){const w=new Set(o);w.delete(b)||w.add(b),c(w)}return e(N,{title:"Revert this change?",action:"Revert",isReady:u.length>0,onConfirm:p,onClose:a,children:[i.fault&&e(C,{fault:i.fault}),!l&&!i.fault&&e(I,{what:"Comparing with now"}),l&&d.length===0&&e("p",{children:"There is nothing to revert: all of it is as it was before."}),d.length>0&&e("fieldset",{class:"choices reversal",children:[e("legend",{children:"What was changed later by others stays. This would be written, all or none:"}),d.map(b=>e("label",{children:[e("input",{type:"checkbox",checked:!o.has(ye(b)),onChange:()=>m(ye(b))}),e("span",{class:`verb ${b.verb}`,children:b.verb}),e("span",{children:[e("code",{children:ye(b)}),b.note&&e("span",{class:"hint",children:[" ",b.note]})]})]},ye(b)))]}),l&&e(rs,{kept:l.seen.value.kept}),u.length>0&&e(ns,{actions:u})]})}function ye({what:t}){return"warrant"in t?U(t.warrant):k(t.object)}function ns({actions:t}){const{delete:n,create:r}=On(t,new Map);return n.warrants.length+r.warrants.length===0?null:e(Re,{proposal:{create:r.warrants,delete:n.warrants}})}function rs({kept:t}){return t.length===0?null:e("details",{children:[e("summary",{children:[t.length.toLocaleString()," ",t.length===1?"stays":"stay"," as now"]}),e("ul",{class:"kept",children:t.map(({name:n,reason:r})=>e("li",{children:[e("code",{children:n})," ",r]},n))})]})}function as(t){const n=a=>Object.fromEntries(Object.entries(a).filter(([,s])=>s.length>0)),r={delete:n(t.delete),create:n(t.create)};return Object.fromEntries(Object.entries(r).filter(([,a])=>Object.keys(a).length>0))}function ss({revision:t,findBefore:n,onDone:r,onClose:a}){const s=x(async i=>({text:await Ha(t.events,await n(i),i),base:await Oe(i)}),[t.token]);return s.value?e(En,{...s.value,onSaved:()=>{r("The definitions are as they were before."),lt()},onClose:a}):e(N,{title:"Revert the model?",action:"Save",isReady:!1,onConfirm:is,onClose:a,children:s.fault?e(C,{fault:s.fault}):e(I,{what:"Reading the model"})})}function is(){return Promise.reject(new v(400,"invalid","It is not known yet what to save"))}function os({revision:t,isComplete:n,onDone:r}){const{token:a,createdAt:s,actor:i,events:o}=t,c=A.value.parameters.moment===a,[l,d]=f(),u=o.some(Lt),h=o.some(T=>!Lt(T)),p=[...o.filter(De),...o.filter(T=>!De(T))],m=T=>cs(t,n,T),b={revision:t,findBefore:m,onDone:r,onClose:()=>d(void 0)},w=he(s);return e("li",{"aria-current":c||a===H.value?"time":void 0,children:[e("div",{class:"revision-head",children:[e(z,{time:s,isExact:!0}),e("span",{class:"actor",children:i??"unknown"}),e("a",{href:S("data",{at:a}),children:["As of that time",e("span",{class:"sr",children:[", ",w]})]}),e("a",{href:S("history",{moment:a,until:s}),children:["Link",e("span",{class:"sr",children:[" to this change, ",w]})]})]}),e(Rn,{changes:p.map(rr)}),t.isPartial&&e("p",{class:"hint",children:["This change has more than the ",o.length," events that are read so far."]}),!$.value&&e(g,{children:[e(Ft,{title:"Who gained, who lost",isFirstOpen:c,children:e(ls,{find:m,token:a})}),u&&e(Ft,{title:"What changed in the model",isFirstOpen:c,children:e(ds,{find:m,token:a})}),e("div",{class:"actions small",children:[h&&e(_,{needs:{scope:"write"},class:"quiet",onClick:()=>d("data"),children:["Revert…",e("span",{class:"sr",children:[" the change of ",w]})]}),u&&e(_,{needs:{scope:"model",ofAllTypes:!0},class:"quiet",onClick:()=>d("model"),children:["Revert the model…",e("span",{class:"sr",children:[" of ",w]})]})]})]}),l==="data"&&e(ts,{...b}),l==="model"&&e(ss,{...b})]})}async function cs(t,n,r){const[a]=t.events,s=n&&!t.isPartial?t.before:a&&await Ua(a,r);if(s)return s;throw new v(410,"gone","This is the first change that is kept: there is nothing to compare it with")}function Ft({title:t,isFirstOpen:n,children:r}){const[a,s]=f(n);return e("details",{open:a,onToggle:i=>s(i.currentTarget.open),children:[e("summary",{children:t}),a&&r]})}function ls({find:t,token:n}){const r=x(t,[n]);return r.fault?e("p",{class:"hint",children:[r.fault.message,"."]}):r.value?e($n,{before:r.value,token:n}):e(I,{what:"Comparing access"})}function ds({find:t,token:n}){const r=x(async s=>{const[i,o]=await Promise.all([Oe(s,await t(s)),Oe(s,n)]);return{lines:Cn(i.text,o.text)}},[n]);if(r.fault)return e(C,{fault:r.fault});if(!r.value)return e(I,{what:"Comparing the models"});const{lines:a}=r.value;return a?e(In,{lines:a}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})}const Xe=25,us=500;function hs(){const{type:t=$.value?.[0],object:n="",actor:r="",until:a}=A.value.parameters,[s,i]=f({message:"",count:0}),o=ee(n),c={...o?{object:o}:{type:t},...a?{until:ps(a)}:{}};return e("div",{class:"history",children:[e("div",{class:"heading",children:[e("h1",{children:"History"}),e(Tn,{})]}),e("p",{class:"lead",children:"Every change of the model, the objects and the warrants, with who made it. Open one to see who gained and who lost access, or revert it."}),e(fs,{type:t,object:n,actor:r,until:a}),s.message&&e(re,{children:e("p",{children:s.message})}),e(bs,{filter:c,actor:r,onDone:l=>i(({count:d})=>({message:l,count:d+1}))},JSON.stringify([c,r,s.count]))]})}function ps(t){return t.endsWith("Z")?cn({createdAt:t}):Date.parse(t)*1e3+999999}function fs({type:t,object:n,actor:r,until:a}){const[s,i]=f(n);L(()=>i(n),[n]);const o=$.value??$e(),c=!!(t&&!$.value||n||r||a),l=(d,u)=>J({[d]:u.trim()||void 0,moment:void 0});return e(Ta,{count:[$.value?"":t,n,r,a].filter(Boolean).length,onSubmit:()=>l("object",s),children:[e("div",{class:"field",children:[e("label",{for:"type",children:"Type"}),e("select",{id:"type",value:n?"":t??"",disabled:n!=="",onChange:d=>l("type",d.currentTarget.value),children:[!$.value&&e("option",{value:"",children:"all"}),o.map(d=>e("option",{value:d,children:d},d))]})]}),!$.value&&e(B,{label:"Object",placeholder:"any",value:s,complete:me,onInput:d=>{i(d),d===""&&l("object","")},onChoose:d=>l("object",d)}),e("div",{class:"field",children:[e("label",{for:"actor",children:"Made by"}),e("input",{id:"actor",type:"search",class:"code",placeholder:"anybody",value:r,onChange:d=>l("actor",d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"until",children:"Until"}),e("input",{id:"until",type:"datetime-local",step:"1",value:a?ms(a):"",onChange:d=>l("until",d.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Filter"}),c&&e("a",{class:"quiet-link",href:S("history"),children:"All changes"})]})}function ms(t){const n=new Date(t);return Number.isNaN(n.getTime())?"":new Date(n.getTime()-n.getTimezoneOffset()*6e4).toISOString().slice(0,19)}function bs({filter:t,actor:n,onDone:r}){const a=D(ln(t)),[s,i]=f(),[o,c]=f(),[l,d]=f(1);async function u(p){let m=0;for(;;){const{revisions:b,hasMore:w}=await a.current.readMore(Xe,p);m+=Xe;const T=b.filter(y=>!n||(y.actor??"unknown").includes(n));if(!w||T.length>=l*Xe||m>=us||!n)return{revisions:T,hasMore:w,searchedTo:b.at(-1)?.createdAt}}}L(()=>{const p=new AbortController;return u(p.signal).then(m=>!p.signal.aborted&&i(m),m=>{if(!p.signal.aborted){if(!(m instanceof v))throw m;c(m)}}),()=>p.abort()},[l]);const h=!!(t.type||t.object||t.until||n);return e(g,{children:[o&&e(C,{fault:o}),!s&&!o&&e(I,{what:"Reading changes"}),s?.revisions.length===0&&e(M,{title:h?"No change has all of this.":"Nothing has been changed yet.",children:e("p",{children:h?"Changes are listed as long as events are kept.":"What you write is listed here, as long as events are kept."})}),e("ol",{class:"timeline",children:s?.revisions.map(p=>e(os,{revision:p,isComplete:!t.type&&!t.object,onDone:r},p.token))}),s?.hasMore&&e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>d(p=>p+1),children:"Earlier changes"}),n&&s.searchedTo&&e("span",{class:"hint",children:["Looked at all changes since ",e(z,{time:s.searchedTo,isExact:!0}),"."]})]})]})}const bt=300,at=50,gs=[["objectTypes","object type"],["policies","policy"]],vs=["created","updated","deleted","expired"];function ws(t,n){const{id:r,data:a}=t,s=String(a.time),i=String(a.token);if(t.name==="revision"){const{changes:d,count:u}=ys(a),h=typeof a.actor=="string"?a.actor:void 0;return{kind:"revision",id:r,time:s,token:i,actor:h,before:n,changes:d,count:u}}if(t.name!=="access")return;if(a.resync!==void 0)return{kind:"gap",id:r,time:s,words:"This change concerns too much access to list it."};const o=a.gained??[],c=a.lost??[],l=[...c.slice(0,at).map(Gt(!1)),...o.slice(0,at).map(Gt(!0))];return{kind:"access",id:r,time:s,at:r===i?i:s,rows:l,count:o.length+c.length}}function Gt(t){return n=>({...n,isGained:t})}function ys(t){const n=[];let r=0;const a=(s,i)=>{for(const o of vs){const c=s?.[o]??[];r+=c.length;for(const l of c.slice(0,at-n.length))n.push({verb:o,...i(l)})}};a(t.warrants,s=>({what:{warrant:s}}));for(const[s,i]of gs)a(t[s],o=>({what:{kind:i,name:String(o.type??o.name)}}));return a(t.objects,s=>({what:{object:s}})),{changes:n,count:r}}function ks(t,n){return[...n.toReversed(),...t].slice(0,bt)}function Ut(t){if(t.kind==="gap")return t.words;const n=t.count>1?` and ${t.count-1} more`:"";if(t.kind==="revision"){const[a]=t.changes;return`${a?ar(a):"nothing"}${n}${t.actor?`, by ${t.actor}`:""}`}const[r]=t.rows;return r?`${Ae(r.subject)} ${r.isGained?"gained":"lost"} ${r.relation} on ${k(r)}${n}`:"nothing"}function js(t){const n=t.at(-1);return n?t.length===1?Ut(n):`${t.length} new entries, the last: ${Ut(n)}`:""}const et=2;function Ts({entry:t}){return t.kind==="gap"?e("li",{children:[e("div",{class:"revision-head",children:e("time",{dateTime:t.time,children:he(t.time)})}),e("p",{children:[t.words," See the ",e("a",{href:S("history"),children:"past changes"}),"."]})]}):e("li",{children:[e("div",{class:"revision-head",children:[e("time",{dateTime:t.time,children:he(t.time)}),t.kind==="revision"&&e("span",{class:"actor",children:t.actor??"unknown"}),e("a",{href:S("data",{at:t.kind==="revision"?t.token:t.at}),children:["As of that time",e("span",{class:"sr",children:[", ",he(t.time)]})]})]}),t.kind==="revision"?e(Cs,{entry:t}):e(Ss,{entry:t})]})}function Cs({entry:{before:t,token:n,changes:r,count:a}}){const[s,i]=f(!1);return e(g,{children:[e(Rn,{changes:r,count:a}),t&&e("details",{onToggle:o=>i(o.currentTarget.open),children:[e("summary",{children:"Who gained, who lost"}),s&&e($n,{before:t,token:n})]})]})}function Ss({entry:{rows:t,count:n,at:r}}){return e(g,{children:[e("ul",{class:"access",children:t.map((a,s)=>e(xs,{row:a,at:r},s))}),n>t.length&&e("p",{class:"hint",children:[(n-t.length).toLocaleString()," more are not listed here."]})]})}function xs({row:t,at:n}){const r={subject:Ae(t.subject),relation:t.relation,object:k(t)},a=t.objectId==="*"||t.subject.objectId==="*";return e("li",{class:t.isGained?"gained":"lost",children:[e("span",{class:"sign",children:[e(ge,{name:t.isGained?"plus":"no"}),t.isGained?"gained":"lost"]}),e("div",{children:[e(an,{subject:t.subject})," ",e("b",{children:t.relation})," on ",e(le,{object:t}),t.conditional&&e("span",{class:"hint",children:" if the context allows it"})," ",!a&&e("a",{href:S("why",{...r,at:n}),children:["Why",e("span",{class:"sr",children:[" ",Object.values(r).join(" ")]})]}),t.cause&&e(Os,{cause:t.cause})]})]})}function Os({cause:{created:t,deleted:n,objectTypes:r}}){const a=[...t.map(s=>({row:s,verb:"was created"})),...n.map(s=>({row:s,verb:"was deleted"}))];return e("div",{class:"hint",children:[a.slice(0,et).map(({row:s,verb:i},o)=>e("div",{children:["because ",e(As,{row:s})," ",i]},o)),r.length>0&&e("div",{children:["because the object type ",r.join(", ")," was changed"]}),a.length>et&&e("div",{children:["and ",a.length-et," more causes"]})]})}function As({row:t}){return"relation"in t?e(ze,{warrant:t}):e(le,{object:t})}const Rs=200,Is=5e3,_n={path:"v2/watch",fields:{objectType:"Object types",relation:"Relations",subjectType:"Types of subjects"}},Mn={path:"v2/watch/access",fields:{of:"Access"}};function $s(){const{parameters:t}=A.value,n=t.show==="access",r=n?Ns(t):Es(t);return e("div",{class:"live",children:[e("div",{class:"heading",children:[e("h1",{children:"Live"}),e(Tn,{})]}),H.value?e(M,{title:"The past does not change.",children:e("p",{children:"This page shows what is written from now on. Go back to now to see it."})}):e(g,{children:[e(_s,{isOfAccess:n},String(n)),r?e(Ms,{isOfAccess:n,filter:r},JSON.stringify([n,r])):e(M,{title:"Which access?",children:e("p",{children:["Write a type, a relation and a type of subjects, such as ",e("code",{children:"document#viewer@user"}),". Whoever gains or loses this access is listed here, with the cause."]})})]})]})}function Es({objectType:t,relation:n,subjectType:r}){const a=qe(t);return{objectType:a.length>0?a:$.value??[],relation:qe(n),subjectType:qe(r)}}function Ns({of:t,subject:n,object:r}){const a=qe(t);return a.length>0?{of:a.join(","),subject:n,object:r}:void 0}function qe(t=""){return t.split(/[\s,]+/).filter(Boolean)}function _s({isOfAccess:t}){const{parameters:n}=A.value,[r,a]=f(n),s=t?Mn.fields:_n.fields,i=o=>c=>a({...r,[o]:c});return e("form",{class:"filters",onSubmit:o=>{o.preventDefault(),J({...r,show:n.show})},children:[e("div",{class:"field",children:[e("label",{for:"live-show",children:"Show"}),e("select",{id:"live-show",value:t?"access":"changes",onChange:o=>J({show:o.currentTarget.value==="access"?"access":void 0}),children:[e("option",{value:"changes",children:"what is written"}),e("option",{value:"access",children:"who gains and loses access"})]})]}),Object.entries(s).map(([o,c])=>e("div",{class:"field",children:[e("label",{for:`live-${o}`,children:c}),e("input",{id:`live-${o}`,type:"text",spellcheck:!1,required:t,placeholder:t?"document#viewer@user":"all",value:r[o]??"",onInput:l=>i(o)(l.currentTarget.value)})]},o)),t&&e(g,{children:[e(B,{label:"Subject",value:r.subject??"",placeholder:"all",complete:nn,onInput:i("subject")}),e(B,{label:"Object",value:r.object??"",placeholder:"all",complete:me,onInput:i("object")})]}),e("button",{type:"submit",class:"quiet",children:"Filter"})]})}function Ms({isOfAccess:t,filter:n}){const{state:r,entries:a,isPaused:s,setPaused:i,retry:o,clear:c}=Ds(t?Mn.path:_n.path,n),l=Ls(a);return e(g,{children:[e("div",{class:"actions",children:[e("div",{role:"status",children:e(qs,{state:r,isPaused:s})}),e("button",{type:"button",class:"quiet","aria-pressed":s,onClick:()=>i(!s),children:s?"Continue":"Pause"}),e("button",{type:"button",class:"quiet",disabled:a.length===0,onClick:c,children:"Clear"}),r.is==="waiting"&&!s&&e("button",{type:"button",class:"quiet",onClick:o,children:"Connect now"})]}),r.is==="stopped"&&e(C,{fault:r.fault,retry:o}),e("p",{class:"sr",role:"status",children:l}),a.length===0&&r.is==="connected"&&!s&&e(M,{title:"Nothing has happened yet.",children:e("p",{children:["What is written from now on is listed here, ",bt," entries at most."]})}),e("ol",{class:"timeline","aria-label":t?"Access gained and lost":"Changes",children:a.map(d=>e(Ts,{entry:d},d.id))})]})}function qs({state:t,isPaused:n}){return n?e(g,{children:[e(W,{tone:"unknown",children:"Paused"})," ",e("span",{class:"hint",children:"It goes on with what follows the first entry."})]}):t.is==="connected"?e(W,{tone:"yes",children:"Connected"}):t.is==="connecting"?e(W,{tone:"unknown",children:"Connecting"}):e(g,{children:[e(W,{tone:"no",children:"Not connected"})," ",t.is==="waiting"&&e("span",{class:"hint",children:[t.fault?.message??"The connection was cut."," It is tried again ",t.seconds===1?"at once":`in ${t.seconds} s`,"."]})]})}function Ds(t,n){const[r,a]=f({is:"connecting"}),[s,i]=f([]),[o,c]=f(!1),l=D(null);return L(()=>{const d=Object.values(n).flat().filter(Boolean).length===0,u=[];let h,p,m=0;const b=()=>{h=void 0;const q=u.splice(0);i(F=>ks(F,q))},w=q=>{u.push(q),u.length>bt&&u.shift(),h??=setTimeout(b,Rs)},T=q=>{const F=ws(q,p);d&&(p=String(q.data.token)),F&&w(F)},y=()=>{m+=1,p=void 0,w({kind:"gap",id:`gap-${m}`,time:new Date().toISOString(),words:"Changes before this are missing: they are not kept any more, or the store was restored."})};return l.current=sr(t,n,{onState:a,onEvent:T,onGap:y}),()=>clearTimeout(h)},[]),L(()=>(o||l.current?.start(),()=>l.current?.stop()),[o]),{state:r,entries:s,isPaused:o,setPaused:c,retry:()=>l.current?.start(),clear:()=>i([])}}function Ls(t){const[n,r]=f(""),a=D(void 0),s=D(0);return L(()=>{const i=t.findIndex(l=>l.id===a.current),o=i<0?t:t.slice(0,i);if(o.length===0)return;const c=setTimeout(()=>{a.current=t[0]?.id,s.current=Date.now()+Is,r(js(o.toReversed()))},Math.max(0,s.current-Date.now()));return()=>clearTimeout(c)},[t]),n}const Bt=1048576;function Ws({onImported:t,onClose:n}){const[r,a]=f(""),[s,i]=f(!1);async function o(l){l&&a((await l.text()).slice(0,Bt+1))}async function c(){if(r.trim()==="")throw new v(400,"invalid","Paste a model, or choose a file");if(r.length>Bt)throw new v(400,"invalid","The model has more than 1,048,576 characters; use the command magistrate model convert");t(await $a(r,s))}return e(N,{title:"Import a model",action:"Convert",onConfirm:c,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"model-file",children:"File"}),e("input",{id:"model-file",type:"file",onChange:l=>{o(l.currentTarget.files?.[0])}})]}),e("div",{class:"field",children:[e("label",{for:"foreign-model",children:"Or paste the model"}),e("textarea",{id:"foreign-model",class:"code",rows:12,spellcheck:!1,"aria-describedby":"foreign-model-hint",value:r,onInput:l=>a(l.currentTarget.value)}),e("span",{class:"hint",id:"foreign-model-hint",children:"A model of OpenFGA, in its language or as JSON, a schema of SpiceDB, or a model of this service. It is put into the editor; nothing is saved yet."})]}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:s,onChange:l=>i(l.currentTarget.checked)}),"Leave out what cannot be expressed here, with all that depends on it"]})]})}const Ps=300,zt={scope:"model",ofAllTypes:!0},Fs=`version 1.0

type user

type document
    relation owner [user]

    relation viewer [user]
    inherit viewer if
        relation owner
`,st=ir(void 0);function Gs(){const t=x(a=>Oe(a,H.value),[H.value]),[n,r]=f("");return e("div",{class:"wide model",children:[e("h1",{children:"Model"}),n&&e(re,{children:e("p",{children:n})}),t.fault&&e(C,{fault:t.fault,retry:t.reload}),t.value===void 0&&!t.fault&&e(I,{what:"Reading the model"}),t.value!==void 0&&e(Us,{stored:t.value,onSaved:()=>{st.value=void 0,r("The model was saved."),t.reload(),lt()},onChange:()=>r("")},`${H.value??""} ${t.value.text}`)]})}function Us({stored:t,onSaved:n,onChange:r}){const a=H.value!==void 0,s=!/^type /m.test(t.text),i=s?Fs:t.text,o=a?void 0:st.peek(),c=D(o?.base??t),[l,d]=f(o?.text??i),[u,h]=f(l),[p,m]=f(!1),[b,w]=f(!1),[T,y]=f(),[q,F]=f(),G=D(void 0),Ee=l!==i,Ne=x(zs,[]),{open:Ye}=A.value.parameters;L(()=>{Ye&&(w(Ye==="import"&&!a),J({open:void 0}))},[Ye]),L(()=>{const O=setTimeout(()=>h(l),Ps);return()=>clearTimeout(O)},[l]);const de=x(O=>R("v2/model/validate",{text:u,signal:O}),[u]),K=de.value,kt=u===l&&!de.isLoading;function jt(O){d(O),F(void 0),r(),a||(st.value=O===i?void 0:{text:O,base:c.current})}function Vn(O){y(O),G.current?G.current.setText(O.text):jt(O.text)}function Zn(){y(void 0),c.current=t,G.current?.setText(i)}async function Qn(){try{G.current?.setText(await Ra(l))}catch(O){if(!(O instanceof v))throw O;F(O)}}const Tt=Ne.value;return e(g,{children:[e("div",{class:"actions",children:[e(_,{needs:zt,class:"primary",disabled:!(Ee||s)||!kt||!K?.valid,onClick:()=>m(!0),children:"Review and save…"}),!a&&e("button",{type:"button",class:"quiet",disabled:!kt||!K?.valid,onClick:Qn,children:"Format"}),Ee&&!a&&e("button",{type:"button",class:"quiet",onClick:Zn,children:"Back to the stored model"}),!a&&e("button",{type:"button",class:"quiet",onClick:()=>w(!0),children:"Import…"}),e("button",{type:"button",class:"quiet",onClick:()=>xe("model.txt","text/plain",l),children:"Download"}),e(dt,{needs:zt,children:", so it cannot save. Try changes here, and download them."})]}),q&&e(C,{fault:q}),T&&e(Bs,{notes:T.notes}),Ne.fault&&e(C,{fault:Ne.fault}),Tt?e(Tt,{first:l,settled:u,found:K,isReadOnly:a,start:A.value.parameters.of,onText:jt,onReady:O=>G.current=O}):!Ne.fault&&e(I,{what:"Loading the editor"}),e("section",{class:"faults card","aria-label":"Validation","aria-live":"polite",children:[de.fault&&e(C,{fault:de.fault,retry:de.reload}),!K&&!de.fault&&e(I,{what:"Validating"}),K&&e(Hs,{found:K}),K&&e(Ht,{title:"Errors",faults:K.errors,onChoose:O=>G.current?.goTo(O.line,O.column)}),K&&e(Ht,{title:"Warnings",faults:K.warnings,onChoose:O=>G.current?.goTo(O.line,O.column)})]}),p&&e(En,{text:l,base:c.current,onSaved:n,onClose:()=>m(!1)}),b&&e(Ws,{onImported:Vn,onClose:()=>w(!1)})]})}function Bs({notes:t}){return e(re,{children:[e("p",{children:"The model is in the editor. Review it, and save it."}),t.length>0&&e("ul",{children:t.map(n=>e("li",{children:n},n))})]})}async function zs(){try{return(await or(async()=>{const{Workbench:t}=await import("./workbench.js");return{Workbench:t}},[],import.meta.url)).Workbench}catch{throw new v(0,"unreachable","The editor could not be loaded.")}}function Hs({found:t}){return e("p",{class:"sentence-line",children:[e(W,{tone:t.valid?"yes":"no",children:t.valid?"Valid":"Not valid"})," ",t.valid&&t.warnings.length===0&&"The model has no faults."]})}function Ht({title:t,faults:n,onChoose:r}){return n.length===0?null:e(g,{children:[e("h2",{children:t}),e("ul",{class:"fault-list",children:n.map((a,s)=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>r(a),children:["Line ",a.line,", column ",a.column]}),e("span",{children:a.message}),a.suggestion&&!a.message.includes(a.suggestion)&&e("span",{class:"hint",children:["Write ",a.suggestion,"."]}),e("code",{class:"hint",children:a.code})]},s))})]})}function je(t){return k(t)+(t.subjectRelation?`#${t.subjectRelation}`:"")}const Js="can-";function Ks(t,n,r){return[...gt(t,n)].map(([a,s])=>{const i=new Set(s.map(d=>d.relation)),o=[...r(a),...i].filter(d=>i.has(d)),c=[...new Set(o)],l=Ys(c,s);return{objectType:a,relations:c.filter(d=>l.has(d)),folded:c.filter(d=>!l.has(d)),lines:qn(s)}})}function Ys(t,n){const r=t.filter(a=>a.startsWith(Js));return r.length===0?new Set(t):new Set([...r,...n.filter(a=>!a.isImplicit).map(a=>a.relation)])}function qn(t){return[...gt(t,je)].map(([n,r])=>({name:n,row:r[0],cells:new Map(r.map(a=>[a.relation,a]))}))}function Vs(t,n){const r=n.trim().toLowerCase();return r?t.filter(a=>a.name.toLowerCase().includes(r)):t}function Zs(t,n){const r=t.flatMap(s=>[...s.cells.values()].filter(i=>n.includes(i.relation))),a=[...gt(r,s=>s.warrant?Y(s.warrant):"")];return a.sort(([,s],[,i])=>i.length-s.length),a.map(([,s])=>({reason:s[0].warrant,lines:qn(s)}))}function Qs(t,n){return t.filter(r=>r.cells.has(n)).length}function gt(t,n){const r=new Map;for(const a of t){const s=r.get(n(a));s?s.push(a):r.set(n(a),[a])}return r}function Xs({context:t}){const[n,r]=f(t);return dn(()=>r(t),[t]),e("details",{open:t!=="",children:[e("summary",{children:"Try a context for policies"}),e("form",{class:"filters",onSubmit:a=>{a.preventDefault(),J({context:n.trim()||void 0,next:void 0,prev:void 0})},children:[e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:n,onInput:a=>r(a.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Try it"})]})]})}function ei({matrix:t,filter:n,isGrouped:r,...a}){const s=D(null),[i,o]=f(!1),c=i?[...t.relations,...t.folded]:t.relations,l=Vs(t.lines,n),d=a.areSubjects?"Who has access":`Access to ${t.objectType}`;return e("section",{class:"matrix",children:[e("div",{class:"heading",children:[!a.areSubjects&&e("h2",{children:t.objectType}),e("p",{class:"hint",children:[l.length===t.lines.length?l.length:`${l.length} of ${t.lines.length}`," ",a.areSubjects?"with access":"that it has access to"]}),t.folded.length>0&&e("button",{type:"button",class:"linklike","aria-expanded":i,onClick:()=>o(!i),children:i?"Fewer relations":`${t.folded.length} more: ${t.folded.join(", ")}`})]}),e("div",{class:"scrolled",tabIndex:0,role:"region","aria-label":d,children:e("table",{ref:s,children:[e("thead",{children:e("tr",{children:[e("th",{scope:"col",children:a.areSubjects?"Subject":"Object"}),c.map(u=>e("th",{scope:"col","data-text":u,children:[u," ",e("span",{class:"count",children:Qs(l,u)})]},u))]})}),r?Zs(l,c).map(({reason:u,lines:h})=>e("tbody",{children:[e("tr",{children:e("th",{scope:"rowgroup",colSpan:c.length+1,class:"reason",children:u?e(ze,{warrant:u}):"Nothing excludes it"})}),e(Jt,{lines:h,relations:c,...a})]},u?JSON.stringify(u):"")):e("tbody",{children:e(Jt,{lines:l,relations:c,...a})})]})}),e(fn,{label:d,table:s})]})}function Jt({lines:t,relations:n,...r}){return e(g,{children:t.map(a=>e("tr",{children:[e("th",{scope:"row",children:[e(le,{object:a.row}),a.row.subjectRelation&&`#${a.row.subjectRelation}`]}),n.map(s=>e("td",{"data-text":ni(a.cells.get(s)),children:e(ti,{row:a.cells.get(s),name:a.name,...r})},s))]},a.name))})}function ti({row:t,name:n,fixed:r,areSubjects:a,context:s}){if(!t)return e("span",{class:"sr",children:"no"});const{policy:i,expiresAt:o}=t.warrant??{},c=e(g,{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t.isImplicit?"ring":"dot"})}),e("span",{class:"sr",children:[t.relation," of ",n,", ",t.isImplicit?"by rules":"by warrant"]}),i&&e("span",{class:"condition",children:" if"}),o&&e("span",{class:"condition",children:[" ","until ",e(z,{time:o})]})]});if(t.objectId==="*")return e("span",{class:"cell",children:c});const l=a?{subject:n,object:r}:{subject:r,object:k(t)};return e("a",{class:"cell",title:i&&`if ${i}`,href:S("why",{...l,relation:t.relation,context:s}),children:c})}function ni(t){if(!t)return"";const{policy:n,expiresAt:r}=t.warrant??{};return(t.isImplicit?"by rules":"by warrant")+(n?` if ${n}`:"")+(r?` until ${r}`:"")}function ri(){return e("ul",{class:"legend",children:[["dot","ring"].map(t=>e("li",{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t})}),t==="dot"?"by warrant":"by rules"]},t)),e("li",{children:[e("b",{children:"if"})," a policy holds"]})]})}async function Dn(t,n,r,a){let s;try{s=n?JSON.parse(n):void 0}catch{throw new v(400,"invalid",'The context is not JSON: write {"network": "office"}')}return R("v2/query",{body:{q:t,context:s,...r},signal:a})}function it(t,n,r,a,s){return ut(i=>Dn(t,n,{...i,asOf:a},s),r)}const ai=50,Kt=1e3,Yt="because",ke={scope:"write"},Vt={who:"Who has access to it",what:"What it has access to",on:"Warrants on it",to:"Warrants to it"};function si(){const{name:t="",tab:n}=A.value.parameters,r=ee(t),[a,s]=f(),[i,o]=f("");if(!r)return e(M,{title:"Which object?",children:e("p",{children:["An object is written ",e("code",{children:"type:id"}),". Find one in the ",e("a",{href:S("data"),children:"data"}),"."]})});const c=ae.value?.find(h=>h.type===r.objectType),l=c!==void 0&&Object.keys(c.relations).length>0,d=r.objectType==="user",u=n&&n in Vt?n:l&&!d?"who":"what";return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:e("span",{class:"name",children:t})}),e("div",{class:"actions",children:[e(dt,{needs:ke}),r.objectId!=="*"&&e(g,{children:[e(_,{needs:ke,class:"quiet",onClick:()=>s("meta"),children:"Edit meta…"}),e(_,{needs:ke,class:"quiet",onClick:()=>s("rename"),children:"Rename…"}),e(_,{needs:ke,class:"quiet",onClick:()=>s("delete"),children:"Delete…"})]}),e(_,{needs:ke,class:"primary",onClick:()=>s("warrant"),children:[e(ge,{name:"plus"}),"New warrant"]})]})]}),e(ii,{object:r,turn:i}),i&&e(re,{children:e("p",{children:i})}),e("nav",{class:"tabs","aria-label":"About this object",children:Object.entries(Vt).map(([h,p])=>e("a",{href:S("object",{name:t,tab:h}),"aria-current":h===u?"page":void 0,children:p},h))}),u==="who"||u==="what"?e(un,{needs:{scope:"query"},children:e(oi,{object:r,areSubjects:u==="who",turn:i})}):e(di,{object:r,isSubject:u==="to",turn:i,onDone:o}),a==="warrant"&&e(wn,{...u==="who"||u==="on"?{object:t}:{subject:t},onDone:o,onClose:()=>s(void 0)}),a==="meta"&&e(ca,{object:r,onDone:o,onClose:()=>s(void 0)}),a==="rename"&&e(ua,{object:r,onClose:()=>s(void 0)}),a==="delete"&&e(la,{object:r,onDone:o,onClose:()=>s(void 0)})]},t)}function ii({object:t,turn:n}){const r=He(t),a=$.value?.includes(t.objectType)===!1,s=x(a?void 0:c=>R(r,{query:{asOf:H.value},signal:c}),[r,H.value,n]);if(a)return e("p",{class:"hint",children:["Your key is limited to ",$.value?.join(", "),": only access to such objects is shown."]});if(s.fault?.status===404)return e("p",{class:"hint",children:"It is not stored; warrants may name it all the same."});if(s.fault)return e(C,{fault:s.fault,retry:s.reload});if(!s.value)return e("p",{class:"hint",children:"…"});const{meta:i,createdAt:o}=s.value;return e(g,{children:[e("p",{class:"hint",children:["Created ",oe(o)]}),i&&Object.keys(i).length>0&&e("dl",{class:"meta-list",children:Object.entries(i).map(([c,l])=>e("div",{children:[e("dt",{children:c}),e("dd",{children:typeof l=="string"?l:JSON.stringify(l)})]},c))})]})}function oi({object:t,areSubjects:n,turn:r}){const{context:a=""}=A.value.parameters;return e(g,{children:[e(Xs,{context:a}),e(li,{object:t,areSubjects:n,turn:r,context:a})]})}function ci(t){return Object.keys(ae.value?.find(n=>n.type===t)?.relations??{})}function li({object:t,areSubjects:n,turn:r,context:a}){const{at:s,filter:i="",group:o}=A.value.parameters,[c,l]=f(Kt),d=k(t),u=$.value?.join(", ")??"*",h=n?`select * of type * for ${nt(t)}`:`select ${u} where ${nt(t)} is *`,p=x(T=>it(h,a,c,s,T),[h,a,s,r,c]);if(p.fault?.status===404)return e(M,{title:`The model does not define the type ${t.objectType}, so nobody has access to it.`});if(p.fault)return e(C,{fault:p.fault,retry:p.reload});if(!p.value)return e(I,{what:"Finding access"});const{rows:m,isCut:b}=p.value;return m.length===0?e(M,{title:n?`Nobody has access to ${d}.`:`${d} has access to nothing.`}):e(g,{children:[e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"filter",children:"Contains"}),e("input",{id:"filter",type:"search",value:i,onInput:T=>J({filter:T.currentTarget.value})})]}),e("div",{class:"field",children:[e("label",{for:"group",children:"Group by"}),e("select",{id:"group",value:o??"",onChange:T=>J({group:T.currentTarget.value}),children:[e("option",{value:"",children:"nothing"}),e("option",{value:Yt,children:"because of"})]})]}),e(ri,{})]}),Ks(m,n?()=>t.objectType:T=>T.objectType,ci).map(T=>e(ei,{matrix:T,fixed:d,areSubjects:n,context:a,filter:i,isGrouped:o===Yt},T.objectType)),b&&e("div",{class:"actions",children:[e("p",{class:"hint",children:["There is more than these ",m.length," relations."]}),e("button",{type:"button",class:"quiet",disabled:p.isLoading,onClick:()=>l(c+Kt),children:"Show more"})]})]})}function di({object:t,isSubject:n,turn:r,onDone:a}){const{next:s,prev:i,at:o}=A.value.parameters,c=n?{subjectType:t.objectType,subjectId:t.objectId}:{objectType:t.objectType,objectId:t.objectId},l=n?{objectType:$.value?.[0]}:{},d=x(u=>{const h={...l,...c,limit:ai,nextCursor:s,prevCursor:i,asOf:o};return R("v2/warrants",{query:h,signal:u})},[k(t),n,s,i,o,r]);return d.fault?e(C,{fault:d.fault,retry:d.reload}):d.value?d.value.results.length===0?e(M,{title:"There are no such warrants."}):e(g,{children:[e(yn,{warrants:d.value.results,onDone:a}),e(ve,{page:d.value})]}):e(I,{what:"Reading warrants"})}function ui({rows:t,fixed:n,areSubjects:r,context:a,readLines:s}){return e(Q,{label:"Results",headings:[r?"Subject":"Object","Relation","How","Because"],hasActions:!0,readLines:s,children:t.map(i=>e("tr",{children:[e("td",{children:[e(le,{object:i}),i.subjectRelation&&`#${i.subjectRelation}`]}),e("td",{children:e("b",{children:i.relation})}),e("td",{children:i.isImplicit?"by rules":"by warrant"}),e("td",{children:i.warrant?e(ze,{warrant:i.warrant}):"nothing excludes it"}),e("td",{class:"row-actions",children:[n&&i.objectId!=="*"&&e("a",{href:S("why",{subject:r?je(i):n,relation:i.relation,object:r?n:k(i),context:a}),children:["Why",e("span",{class:"sr",children:[" ",je(i)," ",i.relation]})]}),n&&i.objectId!=="*"&&e(cr,{subject:r?je(i):n,relation:i.relation,object:r?n:k(i),context:a})]})]},`${je(i)}#${i.relation}`))})}const Ln=/,|[^\s,:]+:"[^"]*"?|[^\s,]+/g,hi=/(?:[^\s,:]+:"[^"]*"?|[^\s,]*)$/,ot={"":{select:"select"},select:{where:"where",of:"of"},where:{is:"is"},is:{and:"and"},and:{not:"not",is:"is"},not:{is:"is"},of:{type:"of type"},"of type":{for:"for"},for:{}},pi={select:!0,where:!0,is:!0,not:!0,"of type":!0,for:!0};function fi(t,n){const r=hi.exec(t)?.[0]??"",a=t.slice(0,t.length-r.length);let s="",i=[],o=[],c=!0;for(const h of a.match(Ln)??[]){const p=c&&s in pi?void 0:ot[s][h.toLowerCase()];p!==void 0?(s==="select"&&(o=i),s=p,i=[],c=!0):h===","?c=!0:(s!=="select"||h.toLowerCase()!=="explicit")&&(i.push(h),c=!1)}const l={before:a,word:r,keywords:[],isType:!1,isObject:!1,isAll:!1,named:i};if(s===""||s==="of")return{...l,keywords:Object.keys(ot[s])};if(!c)return{...l,keywords:mi(s,i,n)};const d=i.length===0,u=i.some(h=>n.includes(h));switch(s){case"select":return{...l,isAll:d,keywords:d&&!/explicit\s+$/i.test(a)?["explicit"]:[],isType:d||u,relationsOf:d||!u?[]:void 0};case"is":return{...l,isAll:d,relationsOf:o.filter(h=>n.includes(h))};case"of type":return{...l,isAll:d,isType:!0};case"and":return{...l,keywords:d?["not"]:[],isObject:d};default:return{...l,isObject:d}}}function mi(t,n,r){return t==="and"?["is"]:t!=="select"?Object.keys(ot[t]):n.includes("*")?["where","of type"]:n.every(a=>r.includes(a))?["where"]:["of type"]}function bi(t){const n=t.match(Ln)??[],r=n.findIndex(i=>/^(where|for)$/i.test(i)),a=r<0?void 0:ee(n[r+1]??"");return{name:a&&`${a.objectType}:${a.objectId}`,areSubjects:n[r]?.toLowerCase()==="for"}}const gi=async(t,n)=>{const r=fi(t,$e());return(r.isObject?await wi(r.word,n):vi(r)).map(s=>({...s,label:s.value,value:r.before+s.value,isPrefix:!0}))};function vi(t){const{relationsOf:n}=t,r=n&&(n.length>0?n.flatMap(i=>Ct(i)):Ct()),s=[...t.isType?$e():[],...(r??[]).toSorted(),...t.isAll?["*"]:[]].filter(i=>!t.named.includes(i));return[...new Set([...t.keywords.map(i=>`${i} `),...s])].filter(i=>i.startsWith(t.word)&&i!==t.word).map(i=>({value:i}))}async function wi(t,n){return(await me(t.replaceAll('"',""),n)).map(a=>{const s=ee(a.value);return s?{...a,value:nt(s)}:a})}const yi=50;function ki(){const{q:t="",context:n="",next:r,prev:a,at:s}=A.value.parameters,[i,o]=f({q:t,context:n});dn(()=>o({q:t,context:n}),[t,n]);const c=x(t?d=>Dn(t,n,{limit:yi,nextCursor:r,prevCursor:a,asOf:s},d):void 0,[t,n,r,a,s]),l=()=>j("queries",{q:i.q.trim(),context:i.context.trim()});return e("div",{class:"wide",children:[e("h1",{children:"Queries"}),e("form",{class:"card query",onSubmit:d=>{d.preventDefault(),l()},children:[e(B,{label:"Query",placeholder:"select document where user:ann is viewer",value:i.q,complete:gi,onInput:d=>o(u=>({...u,q:d})),isRequired:!0,hint:e(g,{children:[e("code",{children:"select TYPES where TYPE:ID is RELATIONS"})," finds objects,"," ",e("code",{children:"select RELATIONS of type TYPES for TYPE:ID"})," finds subjects."]})}),e("details",{open:i.context!=="",children:[e("summary",{children:"Context for policies"}),e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:i.context,onInput:d=>o({...i,context:d.currentTarget.value})})]})]}),e("div",{class:"actions",children:e("button",{type:"submit",class:"primary",children:"Run"})})]}),!t&&e(Ti,{}),c.fault&&e(C,{fault:c.fault,retry:c.reload}),t&&!c.value&&!c.fault&&e(I,{what:"Searching"}),c.value?.results.length===0&&e(M,{title:"Nothing has that.",children:e("p",{children:"A row is here exactly when a check of it is allowed."})}),c.value&&c.value.results.length>0&&e(ji,{page:c.value,q:t,context:n,at:s})]})}function ji({page:t,q:n,context:r,at:a}){const[s,i]=f(),[o,c]=f(""),{name:l,areSubjects:d}=bi(n);async function u(){i(void 0),c("Reading all rows…");try{const{rows:h,isCut:p}=await it(n,r,rt,a);xe("results.json","application/json",`${JSON.stringify(h,null,2)}
`),c(p?`Saved the first ${h.length} rows: an export has no more.`:`Saved ${h.length} rows.`)}catch(h){if(!(h instanceof v))throw h;c(""),i(h)}}return e(g,{children:[e("div",{class:"heading",children:[e("h2",{children:"Results"}),e("div",{class:"actions",children:[e("span",{class:"hint",role:"status",children:o}),e("button",{type:"button",class:"quiet",onClick:u,children:"Export JSON"})]})]}),s&&e(C,{fault:s}),e(ui,{rows:t.results,fixed:l,areSubjects:d,context:r,readLines:async h=>{const{rows:p,isCut:m}=await it(n,r,rt,a,h);return{lines:Br(p),isCut:m}}}),e(ve,{page:t}),e(ce,{forms:{curl:()=>Ce(te(),"v2/query",{q:n,context:r?JSON.parse(r):void 0,asOf:a}),"a command":()=>{const h=r?JSON.parse(r):void 0;return lr(te(),n,h,a)}}})]})}function Ti(){const t=ae.value?.filter(a=>Object.keys(a.relations).length>1).at(-1),n=t?Object.keys(t.relations)[0]:void 0;if(!t||!n)return e(M,{title:"There is nothing to query yet: the model has no relations.",children:[e("p",{children:["Write relations into the ",e("a",{href:S("model"),children:"model"}),", or start with an example: documents in folders, shared with people and groups."]}),e(sn,{})]});const r=[[`select ${t.type} where user:ann is *`,`which objects of type ${t.type} ann has any relation on`],["select * where user:ann is *","everything that ann has access to"],[`select explicit ${t.type} where user:ann is ${n}`,"only what warrants give, without rules"]];return e(M,{title:"List objects, or subjects.",children:e("ul",{class:"starts",children:r.map(([a="",s])=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>j("queries",{q:a}),children:e("code",{children:a})}),e("span",{class:"hint",children:s})]},a))})})}function Wn(t){const n=t.find(i=>Object.keys(i.allowedTypes??{}).length>0)??t.find(i=>Object.keys(i.relations).length>0);if(!n)return{subjectType:"user",relation:"viewer",objectType:"document"};const[r=Object.keys(n.relations)[0]??"viewer",a=[]]=Object.entries(n.allowedTypes??{})[0]??[];return{subjectType:a.find(i=>!/[#:]/.test(i))??"user",relation:r,objectType:n.type}}async function Ci(t){try{const n=P===void 0||Zt(P)?{}:{name:P},{stores:r}=await R("stores",{query:n,signal:t});return{isOn:!0,storeId:(r.find(s=>s.id===P||s.name===P)??(P===void 0?Si(r):void 0))?.id??(P!==void 0&&Zt(P)?P:void 0)}}catch(n){return vt(n,"The service was started with --openfga off.")}}function Zt(t){return/^[0-9A-Z]{26}$/.test(t)}function Si(t){return t.length===1?t[0]:t.find(n=>n.name==="default")}async function xi(t){try{return await V("authz",{headers:{"X-Magistrate-Key":St.value??""},key:St.value??"",signal:t}),{isOn:!0}}catch(n){return n instanceof v&&n.status===403&&/scope/.test(n.message)?{reason:"Your key lacks the scope forward, which it takes to find out."}:n instanceof v&&[400,401,403].includes(n.status)?{isOn:!0}:vt(n,"The service was started without --forward-rules.")}}async function Oi(t){try{return await R(".well-known/authzen-configuration",{signal:t}),{isOn:!0}}catch(n){return vt(n,"The service was started without --public-url, so it does not publish its URLs.")}}function vt(t,n){if(!(t instanceof v))throw t;return t.status===404?{isOn:!1,reason:n}:{reason:`${t.message}.`}}function Ai(){const t=te(),n=Wn(ae.value??[]),{relation:r}=n,a={subject:`${n.subjectType}:1`,relation:r,object:`${n.objectType}:1`},s={objectType:n.objectType,objectId:"1",relation:r,subject:{objectType:n.subjectType,objectId:"1"}};return e(g,{children:[e("p",{class:"hint",children:["All of these answer from the same model and the same warrants. The requests take the key from the environment variable"," ",e("code",{children:"MAGISTRATE_API_KEY"}),"."]}),e(be,{title:"Magistrate",paths:["/v2","/v1"],state:{isOn:!0},children:[e("p",{children:"The API of this service, which clients of Warrant use unchanged."}),e(ce,{forms:{curl:()=>Ce(t,"v2/check",{warrants:[s]}),Python:()=>ur(t,a),"a command":()=>dr(t,a)}})]}),e(Ii,{check:a}),e($i,{}),e(be,{title:"Warrant FGA",paths:["/fga/v1"],state:{isOn:!0},children:[e("p",{children:"The last API of the hosted Warrant, for applications that were written for it."}),e(ce,{forms:{curl:()=>Ce(t,`fga/v1/query?q=${encodeURIComponent(`select ${a.object.split(":",1)[0]} where ${a.subject} is ${r}`)}`)}})]}),e(Ei,{}),e(Ni,{})]})}function be({title:t,paths:n,state:r,children:a}){const{url:s}=te();return e("section",{class:"card door","aria-label":t,children:[e("div",{class:"heading",children:[e("h2",{children:t}),r&&e(Ri,{state:r})]}),n.map(i=>e("code",{class:"name",children:[s,i]},i)),a,r?.reason&&e("p",{class:"hint",children:r.reason})]})}function Ri({state:{isOn:t}}){return t===void 0?e(W,{tone:"unknown",children:"Not known"}):t?e(W,{tone:"yes",children:"On"}):e(W,{tone:"no",children:"Off"})}function wt(t){return t.fault?{reason:`${t.fault.message}.`}:t.value}function Ii({check:t}){const n=x(Ci,[]),{url:r}=te(),a=n.value?.storeId??"STORE_ID",s={user:t.subject,relation:t.relation,object:t.object};return e(be,{title:"OpenFGA",paths:["/stores"],state:wt(n),children:[e("p",{children:"The HTTP API of OpenFGA: its SDKs and its command line take this service as their server."}),n.value?.storeId&&e("p",{children:["Its id of this store is ",e("code",{class:"name",children:a}),"."]}),n.value?.isOn&&e(ce,{forms:{curl:()=>Ce({url:r,store:void 0},`stores/${a}/check`,{tuple_key:s}),Python:()=>["import os","from openfga_sdk import ClientConfiguration","from openfga_sdk.client.models import ClientCheckRequest","from openfga_sdk.credentials import CredentialConfiguration, Credentials","from openfga_sdk.sync import OpenFgaClient","",'token = CredentialConfiguration(api_token=os.environ["MAGISTRATE_API_KEY"])','credentials = Credentials("api_token", token)',`configuration = ClientConfiguration(api_url=${JSON.stringify(r)}, store_id=${JSON.stringify(a)}, credentials=credentials)`,"with OpenFgaClient(configuration) as client:",`    print(client.check(ClientCheckRequest(${Object.entries(s).map(([i,o])=>`${i}=${JSON.stringify(o)}`).join(", ")})))`].join(`
`),fga:()=>`fga query check ${[t.subject,t.relation,t.object].map(Le).join(" ")} --api-url ${Le(r)} --store-id ${a} --api-token "$MAGISTRATE_API_KEY"`}})]})}function $i(){const t=x(Oi,[]),n=ae.value??[],r=Wn(n),a=n.flatMap(o=>Object.entries(o.actions??{}).map(([c,l])=>({type:o.type,name:c,relation:l}))),s={subject:{type:r.subjectType,id:"1"},action:{name:r.relation},resource:{type:r.objectType,id:"1"}},i=wt(t);return e(be,{title:"AuthZEN",paths:["/access/v1/evaluation","/access/v1/evaluations","/access/v1/search"],state:{isOn:!0,reason:i?.reason},children:[e("p",{children:["The Authorization API 1.0 of the OpenID Foundation. An action is the name of a relation, or of an action in the"," ",e("a",{href:S("model"),children:"model"}),"."]}),a.length>0&&e(Q,{label:"Actions",headings:["Type","Action","Relation"],children:a.map(({type:o,name:c,relation:l})=>e("tr",{children:[e("td",{class:"name",children:o}),e("td",{children:e("code",{children:c})}),e("td",{children:e("b",{children:l})})]},`${o} ${c}`))}),e(ce,{forms:{curl:()=>Ce(te(),"access/v1/evaluation",s,!0)}})]})}function Ei(){const t=x(xi,[]),{url:n}=te(),r=["version: 1","source: x-original","identity:","  header: X-Auth-User","rules:"];return e(be,{title:"Gateways",paths:["/authz"],state:wt(t),children:[e("p",{children:["nginx, Traefik, Caddy, Envoy and HAProxy check here whether a request may pass. Which check a request becomes is in the file of rules that the service is started with; ",e("code",{children:"magistrate forward test"})," shows which rule decides a request."]}),e(ce,{forms:{rules:()=>[...r,"  - path: /documents/{id}","    object: document:{id}","    relation: viewer"].join(`
`),"a request":()=>[`curl -si ${Le(`${n}/authz`)}`,'-H "X-Magistrate-Key: $MAGISTRATE_API_KEY"',"-H 'X-Original-Method: GET' -H 'X-Original-Host: docs.example' -H 'X-Original-URI: /documents/1'","-H 'X-Auth-User: user:1'"].join(` \\
  `)}})]})}function Ni(){const{url:t,store:n}=te(),r=["mcp","--server",t,...n===void 0?[]:["--store",n]],a={mcpServers:{magistrate:{command:"magistrate",args:r,env:{MAGISTRATE_API_KEY:"…"}}}};return e(be,{title:"Agents",paths:[],state:void 0,children:[e("p",{children:[e("code",{children:"magistrate mcp"})," is a server of the Model Context Protocol that runs beside an agent. It checks, explains, queries, compares and tests models; it changes nothing unless it is started with ",e("code",{children:"--allow-writes"})," and its key may write."]}),e(ce,{forms:{settings:()=>JSON.stringify(a,null,2),"a command":()=>["pip install 'magistrate[mcp]'",["magistrate",...r].map(Le).join(" ")].join(`
`),"a key":()=>"magistrate keys create assistant --scope check --scope query --scope read"}})]})}function yt({what:t,text:n,onClose:r}){const[a,s]=f(!1),i=()=>navigator.clipboard.writeText(n).then(()=>s(!0),()=>s(!1));return e("div",{class:"notice",role:"status",children:[e("p",{children:[e("b",{children:t}),", shown only this once:"]}),e("p",{children:e("code",{class:"secret",children:n})}),e("div",{class:"actions",children:[navigator.clipboard!==void 0&&e("button",{type:"button",class:"quiet",onClick:()=>{i()},children:a?"Copied":"Copy"}),e("button",{type:"button",class:"quiet",onClick:r,children:"I have stored it"})]})]})}const Ge={check:"check access, and create sessions",forward:"check the requests that a gateway passes on, for any subject",query:"find objects and subjects",read:"read the model and the data, explain, compare",write:"create and delete warrants and objects",model:"change the model",events:"read the history",metrics:"read metrics",keys:"manage keys",webhooks:"manage webhooks, which get all changes",stores:"manage stores, and use all of them",admin:"all of these"},_i=50;function Pn(){const{next:t,prev:n}=A.value.parameters,[r,a]=f(0),[s,i]=f(),[o,c]=f(),[l,d]=f(""),u=x(m=>R("v2/keys",{query:{limit:_i,nextCursor:t,prevCursor:n},signal:m}),[t,n,r]),h=()=>i(void 0);function p(m,b){c(b),d(m),a(w=>w+1)}return u.fault?e(C,{fault:u.fault,retry:u.reload}):u.value?e(g,{children:[e("div",{class:"actions",children:e("button",{type:"button",class:"primary",onClick:()=>i("create"),children:[e(ge,{name:"plus"}),"New key"]})}),e("p",{class:"hint",children:["These keys belong to ",P===void 0?"the store of your key":e(g,{children:["the store ",e("b",{children:P})]})," and open no other, but for those of the store ",e("b",{children:"default"})," with the scope ",e("b",{children:"stores"}),". What ",e("a",{href:S("service",{show:"own"}),children:"your own key"})," ","may do has a page of its own."]}),o&&e(yt,{what:`The key ${o.name}`,text:o.key,onClose:()=>c(void 0)}),l&&!o&&e(re,{children:e("p",{children:l})}),u.value.results.length===0?e(M,{title:"There are no stored keys.",children:e("p",{children:"Callers share the key that was configured or generated, which may do everything. Give each its own, with the scopes that it needs: its name is beside its changes in the history, and it can be revoked alone."})}):e(Mi,{keys:u.value.results,onOpen:i}),e(ve,{page:u.value}),s==="create"&&e(qi,{onDone:p,onClose:h}),typeof s=="object"&&"revoke"in s&&e(Di,{of:s.revoke,onDone:p,onClose:h}),typeof s=="object"&&"rotate"in s&&e(Li,{of:s.rotate,onDone:p,onClose:h})]}):e(I,{what:"Reading keys"})}function Mi({keys:t,onOpen:n}){return e(Q,{label:"Keys",headings:["Name","Begins with","Scopes","Object types","Created","Last used","Expires"],hasActions:!0,children:t.map(r=>e("tr",{children:[e("td",{class:"name",children:r.name}),e("td",{children:e("code",{children:[r.prefix,"…"]})}),e("td",{"data-text":r.scopes.join(", "),children:e("details",{class:"meaning",children:[e("summary",{children:r.scopes.join(", ")}),e("ul",{children:r.scopes.map(a=>e("li",{children:[e("b",{children:a}),": ",Ge[a]??"unknown to this console"]},a))})]})}),e("td",{children:r.objectTypes?.join(", ")??"all"}),e("td",{class:"time",children:[e(z,{time:r.createdAt})," by ",r.createdBy]}),e("td",{class:"time",children:r.lastUsedAt?e(z,{time:r.lastUsedAt}):"never"}),e("td",{class:"time",children:r.expiresAt?e(z,{time:r.expiresAt}):"never"}),e("td",{class:"row-actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>n({rotate:r}),children:["Rotate…",e("span",{class:"sr",children:[" ",r.name]})]}),e("button",{type:"button",class:"quiet",onClick:()=>n({revoke:r}),children:["Revoke…",e("span",{class:"sr",children:[" ",r.name]})]})]})]},r.id))})}function qi({onDone:t,onClose:n}){const[r,a]=f(""),[s,i]=f(["check"]),[o,c]=f([]),[l,d]=f("");async function u(){if(s.length===0)throw new v(400,"invalid","A key needs at least one scope");const h={name:r.trim(),scopes:s,...o.length>0?{objectTypes:o}:{},...l?{expiresAt:new Date(l).toISOString()}:{}},p=await E("v2/keys",{body:h});t(`Created the key ${p.name}.`,p)}return e(N,{title:"New key",action:"Create",onConfirm:u,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"key-name",children:"Name"}),e("input",{id:"key-name",type:"text",required:!0,maxLength:64,value:r,onInput:h=>a(h.currentTarget.value)}),e("span",{class:"hint",children:"It stands beside the changes of the key in the history."})]}),e(Qt,{legend:"Scopes",choices:Object.entries(Ge),chosen:s,onChange:i}),e("details",{children:[e("summary",{children:"Limits"}),e(Qt,{legend:"Object types (none chosen: all)",choices:$e().map(h=>[h,""]),chosen:o,onChange:c}),e("div",{class:"field",children:[e("label",{for:"key-expires",children:"Expires at"}),e("input",{id:"key-expires",type:"datetime-local",value:l,onInput:h=>d(h.currentTarget.value)})]})]})]})}function Qt({legend:t,choices:n,chosen:r,onChange:a}){return e("fieldset",{class:"choices",children:[e("legend",{children:t}),n.map(([s,i])=>e("label",{children:[e("input",{type:"checkbox",checked:r.includes(s),onChange:o=>a(o.currentTarget.checked?[...r,s]:r.filter(c=>c!==s))}),e("span",{children:[e("b",{children:s})," ",i&&e("span",{class:"hint",children:i})]})]},s))]})}function Di({of:t,onDone:n,onClose:r}){async function a(){await E("v2/keys/"+encodeURIComponent(t.id),{method:"DELETE"}),n(`Revoked the key ${t.name}.`)}return e(N,{title:`Revoke ${t.name}?`,action:"Revoke",isDangerous:!0,onConfirm:a,onClose:r,children:e("p",{children:["Whoever uses ",e("code",{children:[t.prefix,"…"]})," is refused within a second. This cannot be undone. It was last used:"," ",t.lastUsedAt?oe(t.lastUsedAt):"never","."]})})}function Li({of:t,onDone:n,onClose:r}){const[a,s]=f("3600");async function i(){const o={graceSeconds:Number(a)},c=await E(`v2/keys/${encodeURIComponent(t.id)}/rotate`,{body:o});n(`Rotated the key ${t.name}.`,c)}return e(N,{title:`Replace the secret of ${t.name}?`,action:"Rotate",onConfirm:i,onClose:r,children:e("div",{class:"field",children:[e("label",{for:"grace",children:"The old one stays valid for"}),e("select",{id:"grace",value:a,onChange:o=>s(o.currentTarget.value),children:[e("option",{value:"0",children:"no time: it is refused at once"}),e("option",{value:"3600",children:"an hour"}),e("option",{value:"86400",children:"a day"})]})]})})}const Wi=/^(\w+)(?:\{(.*)\})? (\S+)$/,Pi=/(\w+)="((?:[^"\\]|\\.)*)"/g;function Fi(t,n){const r=[];for(const a of t.split(`
`)){const s=Wi.exec(a);if(!s)continue;const i=Object.fromEntries([...(s[2]??"").matchAll(Pi)].map(o=>[o[1]??"",o[2]??""]));r.push({name:s[1]??"",labels:i,value:Number(s[3])})}return{at:n,samples:r}}function Gi(t,n){const r=t&&Math.max(n.at-t.at,.001),a=t?Bi(t,n):n.samples,s=(h,p)=>r&&Z(h,p)/r,i=Z(a,"magistrate_graph_hits_total"),o=i+Z(a,"magistrate_graph_misses_total")+Z(a,"magistrate_graph_given_up_total"),c=a.filter(h=>h.name===se&&/^5/.test(h.labels.status??"")),l=Xt(a),u=[...Xt(n.samples.filter(h=>h.name===se))].map(([h,p])=>{const m=l.get(h)??[];return{route:h,total:Z(p,se),perSecond:s(m,se),...en(m)}});return{total:Z(n.samples,se),perSecond:s(a,se),...en(a),cacheHits:o>0?i/o:void 0,statementsPerSecond:s(a,"magistrate_statements_total"),errorsPerSecond:s(c,se),refusedPerSecond:s(a,"magistrate_requests_shed_total"),cachedEntries:Z(n.samples,"magistrate_graph_entries"),running:Z(n.samples,"magistrate_requests_running"),waiting:Z(n.samples,"magistrate_requests_waiting"),routes:u.sort((h,p)=>p.total-h.total||(h.route<p.route?-1:1))}}const se="magistrate_requests_total";function Xt(t){const n=new Map;for(const r of t){const a=Ui(r),s=n.get(a);s?s.push(r):n.set(a,[r])}return n}function Ui(t){return`${t.labels.method??""} ${t.labels.route||"other paths"}`}function Z(t,n){return t.reduce((r,a)=>a.name===n?r+a.value:r,0)}function Bi(t,n){const r=s=>s.name+JSON.stringify(s.labels),a=new Map(t.samples.map(s=>[r(s),s.value]));return n.samples.map(s=>({...s,value:Math.max(s.value-(a.get(r(s))??0),0)}))}function en(t){const n=new Map;for(const i of t){if(i.name!=="magistrate_request_seconds_bucket")continue;const o=i.labels.le==="+Inf"?1/0:Number(i.labels.le);n.set(o,(n.get(o)??0)+i.value)}const r=[...n].sort(([i],[o])=>i-o),a=r.at(-1)?.[1]??0;if(a===0)return{};const s=i=>(r.find(([,o])=>o>=a*i)?.[0]??1/0)*1e3;return{p50Ms:s(.5),p99Ms:s(.99)}}const zi=2e3,Fn=60,Hi=50;function Ji(){const[t,n]=f([]),[r,a]=f(),[s,i]=f(!1);if(L(()=>{if(s||r)return;const c=new AbortController;let l,d;const u=()=>{Vi(c.signal).then(h=>{if(c.signal.aborted)return;const p=Gi(l,h);n(m=>[...m.filter(tn),p].slice(-Fn)),l=h,d=setTimeout(u,zi)},h=>{if(!c.signal.aborted){if(!(h instanceof v))throw h;a(h)}})};return u(),()=>{c.abort(),clearTimeout(d)}},[s,r]),r)return e(C,{fault:r,retry:()=>a(void 0)});const o=t.at(-1);return o?e(g,{children:[e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet","aria-pressed":s,onClick:()=>i(!s),children:s?"Continue":"Pause"}),e("span",{class:"hint",role:"status",children:tn(o)?"Every two seconds, for all workers. The requests of this page count, too.":"Since the service was started, for all workers. What happens now follows in two seconds."})]}),e("dl",{class:"figures",children:[e(X,{title:"Requests a second",value:Te(o.perSecond),points:t.map(c=>c.perSecond??0),children:[o.total.toLocaleString()," in all"]}),e(X,{title:"p50",value:Ue(o.p50Ms),points:t.map(c=>c.p50Ms??0)}),e(X,{title:"p99",value:Ue(o.p99Ms),points:t.map(c=>c.p99Ms??0)}),e(X,{title:"Checks from the cache alone",value:o.cacheHits===void 0?"no checks":`${Math.round(o.cacheHits*100)} %`,points:t.map(c=>c.cacheHits??0)}),e(X,{title:"Entries in the cache",value:o.cachedEntries.toLocaleString()}),e(X,{title:"Statements a second",value:Te(o.statementsPerSecond)}),e(X,{title:"Errors (5xx) a second",value:Te(o.errorsPerSecond)}),e(X,{title:"Requests refused a second",value:Te(o.refusedPerSecond),children:[o.running," running, ",o.waiting," waiting"]})]}),e(Yi,{now:o})]}):e(I,{what:"Reading metrics"})}function tn(t){return t.perSecond!==void 0}function X({title:t,value:n,points:r,children:a}){return e("div",{class:"card figure",children:[e("dt",{children:t}),e("dd",{children:n}),a&&e("dd",{class:"hint",children:a}),r&&e(Ki,{points:r})]})}function Ki({points:t}){const n=t.map(o=>Number.isFinite(o)?o:0),r=Math.max(...n,1e-9),a=120/(Fn-1),s=120-(n.length-1)*a,i=n.map((o,c)=>`${(s+c*a).toFixed(1)},${(27-25*o/r).toFixed(1)}`);return e("svg",{class:"line",viewBox:"0 0 120 28",preserveAspectRatio:"none","aria-hidden":"true",children:e("polyline",{points:i.join(" ")})})}function Yi({now:t}){return e(Q,{label:"Routes",headings:["Route","Requests","A second","p50","p99"],children:t.routes.slice(0,Hi).map(n=>e("tr",{children:[e("td",{class:"name",children:n.route}),e("td",{children:n.total.toLocaleString()}),e("td",{children:Te(n.perSecond)}),e("td",{children:Ue(n.p50Ms)}),e("td",{children:Ue(n.p99Ms)})]},n.route))})}async function Vi(t){const n=await(await V("metrics",{accept:"text/plain",signal:t})).text();return Fi(n,performance.now()/1e3)}function Te(t){return t===void 0?"–":t>=100?String(Math.round(t)):t.toFixed(1)}function Ue(t){return t===void 0?"–":Number.isFinite(t)?`${Number(t.toPrecision(3))} ms`:"more than 10 s"}function Zi(){const t=hr.value;return t?e(g,{children:[e("p",{children:["You are signed in with the key ",e("b",{class:"name",children:t.name}),", for"," ",P===void 0?"the store that it belongs to":e(g,{children:["the store ",e("b",{class:"name",children:P})]}),"."," ",t.scopes.includes("stores")?"It may use every other store, too.":"It opens no other store."]}),e("p",{children:$.value?`It sees only objects of the types ${$.value.join(", ")}, and what concerns all types is closed to it.`:"It may use objects of all types."}),e(Q,{label:"What your key may do",headings:["Scope","With it, a key may","Your key"],children:Object.entries(Ge).map(([n,r])=>e("tr",{children:[e("td",{children:e("b",{children:n})}),e("td",{children:r===Ge.admin?"do all of this":r}),e("td",{children:t.scopes.includes(n)?e(W,{tone:"yes",children:"may"}):e(W,{tone:"no",children:"may not"})})]},n))})]}):null}const Qi={900:"15 minutes",3600:"an hour",86400:"a day"};function Xi(){const[t,n]=f(""),[r,a]=f("3600"),[s,i]=f(),[o,c]=f();async function l(d){d.preventDefault(),c(void 0);try{const u={type:"sess",userId:t.trim(),ttl:Number(r)},{token:h}=await E("v2/sessions",{body:u});i({user:t.trim(),token:h})}catch(u){if(!(u instanceof v))throw u;c(u)}}return e(g,{children:[s&&e(yt,{what:`A session of user:${s.user}`,text:s.token,onClose:()=>i(void 0)}),o&&e(C,{fault:o}),e("form",{class:"card",onSubmit:l,children:[e("h2",{children:"New session"}),e("p",{children:["A session is a token with which a user checks their own access, from a browser or an app: it is sent as"," ",e("code",{children:"Authorization: Bearer"}),". The service does not list sessions; ",e("code",{children:"magistrate sessions revoke"})," ends all of them."]}),e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"session-user",children:"User"}),e("input",{id:"session-user",type:"text",required:!0,placeholder:"kim",value:t,onInput:d=>n(d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"session-length",children:"Valid for"}),e("select",{id:"session-length",value:r,onChange:d=>a(d.currentTarget.value),children:Object.entries(Qi).map(([d,u])=>e("option",{value:d,children:u},d))})]}),e("button",{type:"submit",class:"primary",children:"Create"})]})]})]})}const eo=[{name:"url",label:"URL",placeholder:"https://receiver.example/changes"},{name:"description",label:"Description"}],to=[{name:"objectType",label:"Object types",placeholder:"document, folder",hint:"Separate names by commas; none: all."},{name:"relation",label:"Relations",placeholder:"viewer"},{name:"subjectType",label:"Types of subjects",placeholder:"user"}],no=[{name:"of",label:"Access",placeholder:"document#viewer@user",hint:"Separate patterns by commas."}];function Gn({fields:t,isOfAccess:n,onChange:r}){return e(g,{children:[...eo,...n?no:to].map(({name:a,label:s,placeholder:i,hint:o})=>e("div",{class:"field",children:[e("label",{for:`webhook-${a}`,children:s}),e("input",{id:`webhook-${a}`,type:"text",inputMode:a==="url"?"url":void 0,spellcheck:!1,required:a==="url"||a==="of",maxLength:a==="description"?1e3:void 0,placeholder:i,"aria-describedby":o&&`webhook-${a}-hint`,value:t[a],onInput:c=>r({...t,[a]:c.currentTarget.value})}),o&&e("span",{class:"hint",id:`webhook-${a}-hint`,children:o})]},a))})}const ro={enabled:["yes","Enabled"],disabled:["unknown","Disabled"],gone:["no","Gone"],dead:["no","Dead"]};function Un({webhook:t}){const{state:n,reason:r,attempts:a,nextAttemptAt:s}=t,[i,o]=n==="enabled"&&a?["unknown","Retrying"]:ro[n];return e(g,{children:[e(W,{tone:i,children:o}),a!==void 0&&n==="enabled"&&e("div",{class:"hint",children:[a===1?"An attempt":`${a} attempts`," failed",s&&`; the next one is at ${oe(s)}`]}),r&&e("div",{class:"hint",children:r})]})}const Bn=[["of","access"],["objectType","type"],["relation","relation"],["subjectType","type of subject"]];function ne(t,n=""){return`v2/webhooks/${encodeURIComponent(t)}${n&&`/${n}`}`}function zn(t){return Bn.flatMap(([r,a])=>{const s=t[r];return s?[`${a} ${s.join(" or ")}`]:[]}).join(", ")||"all changes"}function ct(t){const n=r=>r?.join(", ")??"";return{url:t?.url??"",description:t?.description??"",of:n(t?.of),objectType:n(t?.objectType),relation:n(t?.relation),subjectType:n(t?.subjectType)}}function Hn(t){const n={url:t.url.trim(),description:t.description.trim()||null};for(const[r]of Bn)n[r]=ao(t[r]);return n}function ao(t){const n=t.split(/[\s,]+/).filter(Boolean);return n.length>0?n:null}const ie={scope:"webhooks"},so=25;function io({id:t,onIssue:n}){const[r,a]=f(),[s,i]=f(),[o,c]=f(),[l,d]=f(!1),u=x(y=>oo(t,y),[t]);async function h(y){d(!0),c(void 0),i(void 0);try{i(await y())}catch(q){if(!(q instanceof v))throw q;c(q)}d(!1),u.reload()}function p(y){c(void 0),i(y),u.reload()}if(u.fault)return e(C,{fault:u.fault,retry:u.reload});if(!u.value)return e(I,{what:"Reading the webhook"});const{webhook:m,deliveries:b}=u.value,w={webhook:m,onDone:p,onClose:()=>a(void 0)},T=m.enabled;return e(g,{children:[e(uo,{webhook:m}),e("div",{class:"actions",children:[e(_,{needs:ie,class:"quiet",disabled:l,onClick:()=>h(()=>co(t)),children:"Send a test"}),e(_,{needs:ie,class:"quiet",disabled:l,onClick:()=>h(()=>lo(t,!T)),children:T?"Disable":"Enable"}),e(_,{needs:ie,class:"quiet",onClick:()=>a("edit"),children:"Edit…"}),e(_,{needs:ie,class:"quiet",onClick:()=>a("rotate"),children:"Rotate the secret…"}),e(_,{needs:ie,class:"quiet",onClick:()=>a({since:""}),children:"Replay…"}),e(_,{needs:ie,class:"quiet",onClick:()=>a("delete"),children:"Delete…"})]}),o&&e(C,{fault:o}),s&&e(re,{children:e("p",{children:s})}),e(ho,{deliveries:b,isLoading:u.isLoading,onReload:u.reload,onReplay:a}),r==="edit"&&e(po,{...w}),r==="rotate"&&e(fo,{...w,onIssue:n}),r==="delete"&&e(mo,{...w}),typeof r=="object"&&e(bo,{...w,since:r.since})]})}async function oo(t,n){const[r,a]=await Promise.all([R(ne(t),{signal:n}),R(ne(t,"deliveries"),{signal:n})]);return{webhook:r,deliveries:a.results}}async function co(t){return e(Jn,{delivery:await E(ne(t,"test"),{method:"POST"})})}async function lo(t,n){return await E(ne(t),{method:"PATCH",body:{enabled:n}}),n?"Enabled. It goes on with the first change that it has not got.":"Disabled. What changes meanwhile is sent when it is enabled again."}function uo({webhook:t}){return e("section",{class:"card","aria-label":"Webhook",children:[e("h2",{class:"name",children:t.url}),t.description&&e("p",{children:t.description}),e("dl",{class:"meta-list",children:[e(ue,{name:"State",children:e(Un,{webhook:t})}),e(ue,{name:"Gets",children:zn(t)}),e(ue,{name:"Created",children:[oe(t.createdAt)," by ",t.createdBy]}),e(ue,{name:"Has everything up to",children:e("a",{href:S("data",{at:t.token}),children:"this write"})}),t.previousUntil&&e(ue,{name:"The secret before signs, too, until",children:oe(t.previousUntil)}),t.skipped&&e(ue,{name:"Skipped, because they were not kept",children:["changes until ",oe(t.skipped.time),", after ",e("a",{href:S("data",{at:t.skipped.after}),children:"this write"})]})]}),e("p",{children:e("a",{href:S("service",{show:"webhooks"}),children:"All webhooks"})})]})}function ue({name:t,children:n}){return e("div",{children:[e("dt",{children:t}),e("dd",{children:n})]})}function ho({deliveries:t,isLoading:n,onReload:r,onReplay:a}){return e(g,{children:[e("div",{class:"heading",children:[e("h2",{children:"Deliveries"}),e("button",{type:"button",class:"quiet","aria-disabled":n,onClick:r,children:"Read again"})]}),t.length===0?e(M,{title:"Nothing was sent yet.",children:e("p",{children:"The last 100 attempts are listed here. Send a test to see whether the receiver answers."})}):e(Q,{label:"Deliveries",headings:["Time","Result","Took","Attempt","Message"],hasActions:!0,children:t.map(s=>e("tr",{children:[e("td",{class:"time",children:e(z,{time:s.time,isExact:!0})}),e("td",{children:e(Jn,{delivery:s})}),e("td",{class:"time",children:[Math.round(s.duration)," ms"]}),e("td",{children:s.attempt}),e("td",{children:e("code",{children:s.id})}),e("td",{class:"row-actions",children:e(_,{needs:ie,class:"quiet",onClick:()=>a({since:s.tokens[0]??""}),children:["Replay after this…",e("span",{class:"sr",children:[" ",s.id]})]})})]},s.time+s.id))})]})}function Jn({delivery:{status:t,error:n}}){return e(g,{children:[e(W,{tone:n?"no":"yes",children:n?"Failed":"Delivered"})," ",n??(t!==void 0&&`The receiver answered ${t}.`)]})}function po({webhook:t,onDone:n,onClose:r}){const[a,s]=f(ct(t));async function i(){await E(ne(t.id),{method:"PATCH",body:Hn(a)}),n("Saved.")}return e(N,{title:"Edit the webhook",action:"Save",onConfirm:i,onClose:r,children:e(Gn,{fields:a,isOfAccess:t.of!==void 0,onChange:s})})}function fo({webhook:t,onDone:n,onClose:r,onIssue:a}){async function s(){a(await E(ne(t.id,"rotate"),{body:{}})),n("Rotated the secret.")}return e(N,{title:"Replace the secret?",action:"Rotate",onConfirm:s,onClose:r,children:e("p",{children:"For 24 hours, messages are signed with both secrets, so that the receiver can change over."})})}function mo({webhook:t,onClose:n}){async function r(){await E(ne(t.id),{method:"DELETE"}),j("service",{show:"webhooks"})}return e(N,{title:"Delete the webhook?",action:"Delete",isDangerous:!0,onConfirm:r,onClose:n,children:e("p",{children:["Nothing is sent to ",e("span",{class:"name",children:t.url})," any more. This cannot be undone."]})})}function bo({webhook:t,since:n,onDone:r,onClose:a}){const[s,i]=f(n),o=pr(go,[]);async function c(){await E(ne(t.id,"replay"),{body:{since:s.trim()}}),r("Everything after that write is sent again.")}return e(N,{title:"Send changes again",action:"Replay",onConfirm:c,onClose:a,children:e(B,{label:"After the write",value:s,placeholder:"token of a write",complete:o,onInput:i,isRequired:!0,hint:"Everything that was written after it is sent again, in order. Choose the first change to send, or give a token."})})}function go(){let t;return async n=>Ie({scope:"events"})?[]:(t??=vo(),(await t).filter(({value:r,label:a})=>`${r} ${a}`.includes(n)))}async function vo(){const{revisions:t}=await ln(void 0).readMore(so,new AbortController().signal);return t.flatMap(n=>n.before===void 0?[]:[{value:n.before,label:fr(n),hint:he(n.createdAt)}])}const wo=50;function yo(){const{id:t}=A.value.parameters,[n,r]=f(),a=n!==void 0&&n.id===t;return e(g,{children:[a&&e(yt,{what:"The secret that signs",text:n.secret,onClose:()=>r(void 0)}),t===void 0?e(ko,{onIssue:r}):e(io,{id:t,onIssue:r},t)]})}function ko({onIssue:t}){const{next:n,prev:r}=A.value.parameters,[a,s]=f(!1),i=x(o=>R("v2/webhooks",{query:{limit:wo,nextCursor:n,prevCursor:r},signal:o}),[n,r]);return i.fault?e(C,{fault:i.fault,retry:i.reload}):i.value?e(g,{children:[e("div",{class:"actions",children:e(_,{needs:{scope:"webhooks"},class:"primary",onClick:()=>s(!0),children:[e(ge,{name:"plus"}),"New webhook"]})}),i.value.results.length===0?e(M,{title:"There are no webhooks.",children:e("p",{children:"A webhook is a URL to which changes are sent as they are made, signed and in order: for caches, search indexes and audit systems that have to react."})}):e(jo,{webhooks:i.value.results}),e(ve,{page:i.value}),a&&e(To,{onIssue:t,onClose:()=>s(!1)})]}):e(I,{what:"Reading webhooks"})}function jo({webhooks:t}){return e(Q,{label:"Webhooks",headings:["URL","Gets","State","Created"],children:t.map(n=>e("tr",{children:[e("td",{children:[e("a",{class:"name",href:S("service",{show:"webhooks",id:n.id}),children:n.url}),n.description&&e("div",{class:"hint",children:n.description})]}),e("td",{children:zn(n)}),e("td",{children:e(Un,{webhook:n})}),e("td",{class:"time",children:[e(z,{time:n.createdAt})," by ",n.createdBy]})]},n.id))})}function To({onIssue:t,onClose:n}){const[r,a]=f(ct()),[s,i]=f(""),[o,c]=f(!1);function l(u){c(u),a({...ct(),url:r.url,description:r.description})}async function d(){const u={...Hn(r),secret:s.trim()||void 0},h=await E("v2/webhooks",{body:u});t(h),j("service",{show:"webhooks",id:h.id})}return e(N,{title:"New webhook",action:"Create",onConfirm:d,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"webhook-gets",children:"Gets"}),e("select",{id:"webhook-gets",value:String(o),onChange:u=>l(u.currentTarget.value==="true"),children:[e("option",{value:"false",children:"what is written"}),e("option",{value:"true",children:"access that is gained and lost"})]})]}),e(Gn,{fields:r,isOfAccess:o,onChange:a}),e("details",{children:[e("summary",{children:"Secret"}),e("div",{class:"field",children:[e("label",{for:"webhook-secret",children:"A secret that signs"}),e("input",{id:"webhook-secret",type:"password",autocomplete:"off",spellcheck:!1,placeholder:"whsec_…",value:s,onInput:u=>i(u.currentTarget.value)}),e("span",{class:"hint",children:"Leave it empty to have one generated, which is shown once."})]})]})]})}const tt={keys:{title:"Keys",body:Pn,needs:{scope:"keys",ofAllTypes:!0}},own:{title:"Your key",body:Zi,needs:{scope:"read"}},sessions:{title:"Sessions",body:Xi,needs:{scope:"check",ofAllTypes:!0}},webhooks:{title:"Webhooks",body:yo,needs:{scope:"webhooks",ofAllTypes:!0}},integrations:{title:"Integrations",body:Ai,needs:{scope:"read"}},metrics:{title:"Metrics",body:Ji,needs:{scope:"metrics"}}};function Co(){const{show:t="keys"}=A.value.parameters,n=t in tt?t:"keys",{body:r=Pn,needs:a}=tt[n]??{};return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Service"}),e("nav",{class:"tabs","aria-label":"Parts of the service",children:Object.entries(tt).map(([s,{title:i}])=>e("a",{href:S("service",{show:s}),"aria-current":s===n?"page":void 0,children:i},s))})]}),e(un,{needs:a,children:e(r,{})},n)]})}const So=300,xo=4194304;function Oo(){const t=Se.value;return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Tests"}),e(Ao,{text:t})]}),t?e(Ro,{text:t}):e(No,{})]})}function Ao({text:t}){const[n,r]=f(),[a,s]=f(""),[i,o]=f(!1),c=D(null);async function l(p){r(void 0),s("");try{s(await p())}catch(m){if(!(m instanceof v))throw m;r(m)}}async function d(){return xe("model.test.yaml","application/yaml",await kr(t)),"Saved. The command magistrate model test runs this file."}async function u(){const p=await jr(t);xe("playground.test.yaml","application/yaml",p.text);const m=p.isCut?`; a file has ${Tr} at most, so the others are missing`:"";return`Saved with ${p.warrants} warrants${m}. The command magistrate playground opens this file.`}async function h(p){if(!p)return"";if(p.size>xo)throw new v(400,"invalid","The file is larger than 4 MiB");return Se.value=await p.text(),`Opened ${p.name}.`}return e(g,{children:[e("div",{class:"actions",children:[e("input",{ref:c,type:"file",class:"sr",tabIndex:-1,"aria-label":"Test file",accept:".yaml,.yml,.json",onChange:p=>{const m=p.currentTarget;l(()=>h(m.files?.[0])).then(()=>m.value="")}}),e("button",{type:"button",class:"quiet",onClick:()=>c.current?.click(),children:"Open a file…"}),t&&e(g,{children:[e("button",{type:"button",class:"quiet",onClick:()=>l(d),children:"Download"}),e("button",{type:"button",class:"quiet",onClick:()=>o(!0),children:"Clear…"})]}),e("button",{type:"button",class:"quiet",onClick:()=>l(u),children:"Download with all warrants"})]}),e("p",{class:"hint",role:"status",children:a}),n&&e(C,{fault:n}),i&&e(N,{title:"Remove all tests?",action:"Remove",isDangerous:!0,onConfirm:()=>(Se.value="",Promise.resolve()),onClose:()=>o(!1),children:e("p",{children:"They are in this tab alone. Download them first if you need them again."})})]})}function Ro({text:t}){const[n,r]=f(t);L(()=>{const s=setTimeout(()=>r(t),So);return()=>clearTimeout(s)},[t]);const a=x(s=>R("v2/model/test",{text:n,signal:s}),[n]);return e("div",{class:"tests",children:[e("div",{class:"field",children:[e("label",{for:"tests",children:"Test file"}),e("textarea",{id:"tests",class:"code",rows:24,wrap:"off",spellcheck:!1,value:t,onInput:s=>Se.value=s.currentTarget.value}),e("span",{class:"hint",children:["Without ",e("code",{children:"model"}),", the model of the service is tested. Stored warrants do not count, only those under"," ",e("code",{children:"setup"}),". The file is kept in this tab until you close it or sign out."]})]}),e("section",{class:"card results","aria-label":"Results","aria-live":"polite","aria-busy":a.isLoading,children:[a.fault&&e(C,{fault:a.fault,retry:a.reload}),!a.value&&!a.fault&&e(I,{what:"Running the tests"}),a.value&&e(Io,{run:a.value})]})]})}function Io({run:t}){if(t.results.length===0)return e("p",{children:"There are no tests in the file yet."});const n=t.results.filter(a=>!a.passed),r=t.results.filter(a=>a.passed);return e(g,{children:[e("p",{class:"sentence-line",children:[e(W,{tone:t.failed?"no":"yes",children:t.failed?"Failed":"Passed"})," ",e("b",{children:[t.passed," passed, ",t.failed," failed"]})]}),e("ul",{class:"test-list",children:[...n,...r].map((a,s)=>e($o,{result:a},s))})]})}function $o({result:t}){const{name:n,passed:r,failure:a,explanation:s}=t;return e("li",{children:[e(W,{tone:r?"yes":"no",children:r?"Passed":"Failed"})," ",e("span",{class:"name",children:n}),a&&e("p",{class:"failure",children:a}),s&&e(Eo,{explanation:s})]})}function Eo({explanation:t}){const n=t.decision==="allowed",r=t.wouldAllow?.[0],a=Be(t.check);return e("details",{children:[e("summary",{children:["Why it is ",t.decision]}),n&&e(mr,{links:br(t.path??[]),label:"What allows it"}),!n&&gr(t).map((s,i)=>e("p",{children:s.sentence},i)),r&&e(g,{children:[e("p",{class:"hint",children:"This would allow it:"}),e("ul",{class:"changes",children:vr(r).map(s=>e("li",{children:[e("span",{class:`verb ${s.verb}`,children:s.verb})," ",e("code",{children:s.what})]},s.verb+s.what))}),e("p",{class:"hint effects",children:wr(r)})]}),e("details",{children:[e("summary",{children:"Every step"}),e(yr,{root:t.because})]}),a&&e("p",{children:e("a",{href:S("why",{subject:Ae(a.subject),relation:a.relation,object:k(a)}),children:"The same check of what is stored"})})]})}function No(){const t=ae.value?.find(a=>Object.keys(a.relations).length>0),n=t&&Object.keys(t.relations).at(-1),r=()=>{const a=JSON.stringify(`${t?.type??"document"}:example#${n??"viewer"}@user:nobody`);Se.value=`setup:
  warrants: []
tests:
  - {name: somebody else, check: ${a}, expect: false}
`};return e(M,{title:"There are no tests yet.",children:[e("p",{children:["A test is a check with the answer that you expect. ",e("a",{href:S("why"),children:"Explain a check"})," or"," ",e("a",{href:S("queries"),children:"run a query"}),", and pin what must stay as it is: each pinned check comes with the warrants that it depends on. The tests are run at each change of the file, with the current model."]}),e("p",{children:e("button",{type:"button",class:"primary",onClick:r,children:"Start with an example"})})]})}const _o=8,Mo=40,qo=[{name:"Why",hint:"explain a check",run:()=>j("why")},{name:"Objects",hint:"page",run:()=>j("data")},{name:"Warrants",hint:"page",run:()=>j("data",{show:"warrants"})},{name:"Queries",hint:"page",run:()=>j("queries"),needs:{scope:"query"}},{name:"History",hint:"page",run:()=>j("history"),needs:{scope:"events"}},{name:"Live",hint:"changes as they are made",run:()=>j("live"),needs:{scope:"events"}},{name:"Model",hint:"page",run:()=>j("model"),needs:{scope:"read",ofAllTypes:!0}},{name:"Tests",hint:"page",run:()=>j("tests"),needs:{scope:"read",ofAllTypes:!0}},{name:"Keys",hint:"page of the service",run:()=>j("service")},{name:"Your key",hint:"page of the service",run:()=>j("service",{show:"own"})},{name:"Integrations",hint:"APIs, gateways and agents",run:()=>j("service",{show:"integrations"})},{name:"Sessions",hint:"page of the service",run:()=>j("service",{show:"sessions"})},{name:"Webhooks",hint:"page of the service",run:()=>j("service",{show:"webhooks"})},{name:"Metrics",hint:"page of the service",run:()=>j("service",{show:"metrics"})}],Do=[{name:"New warrant",hint:"action",run:()=>j("data",{show:"warrants",open:"warrant"}),needs:{scope:"write"},isChange:!0},{name:"New object",hint:"action",run:()=>j("data",{open:"object"}),needs:{scope:"write"},isChange:!0},{name:"Import a file",hint:"action",run:()=>j("data",{open:"file"}),needs:{scope:"write"},isChange:!0},{name:"Change the colours",hint:"action",run:Cr},{name:"Sign out",hint:"action",run:()=>Sr()}];async function Lo(t,n){const r=t.trim(),a=Wo(r),s=Po(r),i=r?Fo(r):[],o=r?await Go(r,n):[],c=new Set(o.map(l=>l.name));return[...s.filter(l=>!c.has(l.name)),...o,...a,...i].slice(0,Mo)}function Wo(t){const n=t.toLowerCase();return[...qo,...Do].filter(({needs:s,isChange:i})=>(!s||!Ie(s))&&!(i&&H.value!==void 0)).filter(({name:s})=>s.toLowerCase().includes(n)).toSorted((s,i)=>Number(i.name.toLowerCase().startsWith(n))-Number(s.name.toLowerCase().startsWith(n)))}function Po(t){const n=Be(t);if(n){const{subject:a,relation:s}=n;return[{name:t,hint:"explain this check",run:()=>j("why",{subject:Ae(a),relation:s,object:k(n)})}]}if(/^select\s/i.test(t)&&!Ie({scope:"query"}))return[{name:t,hint:"run this query",run:()=>j("queries",{q:t})}];const r=ee(t);return r?[{name:k(r),hint:"object or subject",run:()=>j("object",{name:k(r)})}]:[]}function Fo(t){return Ie({scope:"read",ofAllTypes:!0})?[]:(ae.value??[]).flatMap(({type:r,relations:a})=>[r,...Object.keys(a).map(s=>`${r}#${s}`)]).filter(r=>r.includes(t)).toSorted((r,a)=>Number(a.startsWith(t))-Number(r.startsWith(t))).map(r=>({name:r,hint:"in the model",run:()=>j("model",{of:r})}))}async function Go(t,n){const r=t.indexOf(":"),s={objectType:r>=0?t.slice(0,r):$.value?.[0],q:r>=0?t.slice(r+1):t,limit:_o,asOf:H.value},{results:i}=await R("v2/objects",{query:s,signal:n});return i.map(o=>{const c=k(o);return{name:c,hint:on(o.meta)??"object or subject",run:()=>j("object",{name:c})}})}const Uo=100;function Bo(){return hn.value==="shortcuts"?e(Ho,{}):e(zo,{})}function Kn(){const t=D(null);return L(()=>t.current?.showModal(),[]),t}function Yn(){hn.value=void 0}function zo(){const t=Kn(),[n,r]=f(""),[a,s]=f([]),[i,o]=f(0),c=D(null);L(()=>{const u=new AbortController,h=setTimeout(()=>{Lo(n,u.signal).then(p=>{u.signal.aborted||(s(p),o(0))},p=>{if(!u.signal.aborted&&(s([]),!(p instanceof v)))throw p})},n?Uo:0);return()=>{clearTimeout(h),u.abort()}},[n]),L(()=>{c.current?.children[i]?.scrollIntoView({block:"nearest"})},[i]);function l(u){u&&(t.current?.close(),u.run())}function d(u){const p={ArrowDown:1,ArrowUp:-1}[u.key];p!==void 0&&a.length>0?(u.preventDefault(),o((i+p+a.length)%a.length)):u.key==="Enter"&&(u.preventDefault(),l(a[i]))}return e("dialog",{ref:t,class:"palette","aria-label":"Go to or do",onClose:Yn,children:[e("input",{type:"text",class:"code",role:"combobox","aria-label":"Go to or do","aria-expanded":a.length>0,"aria-controls":"commands","aria-activedescendant":a.length>0?`command-${i}`:void 0,autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"an object, a page, a check, a query or an action",value:n,onInput:u=>r(u.currentTarget.value),onKeyDown:d}),e("ul",{class:"options",id:"commands",role:"listbox","aria-label":"Found",ref:c,children:a.map((u,h)=>e("li",{id:`command-${h}`,role:"option","aria-selected":h===i,onClick:()=>l(u),children:[e("span",{class:"name",children:u.name}),e("span",{class:"hint",children:u.hint})]},u.name+u.hint))}),a.length===0&&e("p",{class:"hint",children:"Nothing is called that."})]})}function Ho(){const t=Kn();return e("dialog",{ref:t,class:"palette","aria-labelledby":"shortcuts-title",onClose:Yn,children:[e("h2",{id:"shortcuts-title",children:"Shortcuts"}),e("dl",{class:"shortcuts",children:xr.map(([n,r])=>e("div",{children:[e("dt",{children:n.split(" ").map(a=>e("kbd",{children:a},a))}),e("dd",{children:r})]},n))}),e("div",{class:"actions",children:e("button",{type:"button",class:"quiet",onClick:()=>t.current?.close(),children:"Close"})})]})}const Ko=Object.freeze(Object.defineProperty({__proto__:null,DataPage:ba,HistoryPage:hs,LivePage:$s,ModelPage:Gs,ObjectPage:si,Palette:Bo,QueriesPage:ki,ServicePage:Co,TestsPage:Oo,loadExample:Wr},Symbol.toStringTag,{value:"Module"}));export{Ko as p,xe as s};
