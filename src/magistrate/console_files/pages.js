import{r as R,w as E,l as Ze,a as Me,R as g,d as m,T as F,b as e,C as I,c as x,g as j,k as le,e as W,s as K,f as y,h as P,i as Wn,u as A,F as T,B as O,$ as w,E as ke,j as Gt,m as de,n as z,o as Bt,p as Y,q as Pn,S as Ut,O as ae,t as _,v as C,x as $,A as L,y as G,z as je,D as B,G as Xe,I as he,N as Z,H as N,J as M,K as Te,L as ue,M as zt,P as Ht,Q as Ae,U as Jt,V as Se,W as qe,X as Fn,Y as Gn,Z as re,_ as Bn,a0 as Kt,a1 as Un,a2 as _e,a3 as zn,a4 as J,a5 as Hn,a6 as Jn,a7 as Vt,a8 as Yt,a9 as Je,aa as Kn,ab as ht,ac as Vn,ad as Yn,ae as ut,af as Qn,ag as Zn,ah as Xn,ai as ge,aj as er,ak as tr,al as nr,am as rr,an as ar,ao as sr,ap as ir,aq as or,ar as cr,as as lr,at as dr,au as Qt,av as hr}from"./console.js";const ur=`name: agents with tasks of their own, whose approvals start empty, and which delegate parts of them
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
`,pr=`version 1.0

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
`,mr=`name: repositories of an organization, its nested teams, outside collaborators and protected branches
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
`,fr=`version 1.0

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
`,br=`name: documents in folders, shared with people, groups and everyone, and kept from some
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
`,vr=`// lint: ignore direct_permission
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
`,wr=`name: two companies in one application, with roles that mean something only within one of them
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
`,gr=`version 1.0

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
`,yr=/warrants:\n((?:\s+- .*\n)+)/,kr=/- '?(.*?)'?$/gm,jr=/^(.*?)(?:\[(.*)\])?$/,Tr={"document-sharing":{model:vr,tests:br},"multi-tenant-rbac":{model:gr,tests:wr},"code-hosting":{model:fr,tests:mr},agents:{model:pr,tests:ur}};async function Cr(t,n){const{model:r,tests:s}=Tr[t],{objectTypes:a}=await R("v2/model/convert",{text:r,accept:"application/json"});n&&!a.some(({type:c})=>c==="user")&&a.unshift({type:"user",relations:{}}),await E("v2/object-types",{method:"PUT",query:n?{replace:"true"}:{},body:a});const[,i=""]=yr.exec(s)??[],o=[...i.matchAll(kr)].map(([,c=""])=>Sr(c));await E("v2/writes",{body:{create:{warrants:o}}}),await Ze()}function Sr(t){const[,n="",r]=jr.exec(t)??[],s=Me(n);if(!s)throw new Error(`the example has a warrant that cannot be read: ${t}`);return r?{...s,policy:r}:s}const xr=500,Or=/^(.*?)\[(.*)\]$/s;function Ar(t){if(t.trimStart().startsWith("[")){const n=pt(t,0);if(Array.isArray(n))return n.map((r,s)=>mt(r,s+1))}return t.split(`
`).flatMap((n,r)=>{const s=n.trim();return s===""||s.startsWith("#")?[]:s.startsWith("{")?[mt(pt(s,r+1),r+1)]:[{number:r+1,warrant:Zt(s,r+1)}]})}function pt(t,n){try{return JSON.parse(t)}catch{throw Re(n,"it is not valid JSON")}}function Zt(t,n){const[,r=t,s]=Or.exec(t)??[],a=Me(r);if(!a)throw Re(n,"write a warrant like document:plan#viewer@user:ann, or as JSON");return s?{...a,policy:s}:a}function mt(t,n){if(typeof t=="string")return{number:n,warrant:Zt(t,n)};if(typeof t=="object"&&t!==null){if("relation"in t)return{number:n,warrant:t};if("objectId"in t)return{number:n,object:t};if("relations"in t)throw Re(n,"it is an object type; the page Model writes those")}throw Re(n,"it is neither a warrant nor an object")}function Re(t,n){return new g(400,"invalid",t>0?`Line ${t}: ${n}`:n)}async function Rr(t,n,r){const s={done:0,of:t.length,created:0,unchanged:0};for(n({...s});s.done<t.length&&!r();){const a=t.slice(s.done,s.done+xr),i=await Er(a);s.done+=a.length,s.created+=i.created,s.unchanged+=i.unchanged,n({...s})}return s}async function Er(t){const n=t.filter(a=>a.warrant),r=t.filter(a=>a.object),s={...n.length>0?{warrants:n.map(a=>a.warrant)}:{},...r.length>0?{objects:r.map(a=>a.object)}:{}};try{return await E("v2/writes",{body:{create:s}})}catch(a){if(!(a instanceof g))throw a;const i=/(warrants|objects)\[(\d+)\]/.exec(a.parameter),o=i&&(i[1]==="warrants"?n:r)[Number(i[2])];throw o?new g(a.status,a.code,`Line ${o.number}: ${a.message}`):a}}const Ir=67108864;function $r({onDone:t,onClose:n}){const[r,s]=m(),[a,i]=m(),o=F(!1);async function c(){if(!r)throw new g(400,"invalid","Choose a file first");if(r.size>Ir)throw new g(400,"invalid","The file is larger than 64 MiB; the command magistrate import takes files of any size");i(void 0);const l=await Rr(Ar(await r.text()),i,()=>o.current),d=l.done<l.of?`Stopped after ${l.done} of ${l.of} lines`:`Imported ${l.of} lines`;t(`${d}: ${l.created} were new, ${l.unchanged} were there already.`)}return e(I,{title:"Import a file",action:"Import",onConfirm:c,onClose:()=>{o.current=!0,n()},children:[e("div",{class:"field",children:[e("label",{for:"import-file",children:"File"}),e("input",{id:"import-file",type:"file",required:!0,onChange:l=>s(l.currentTarget.files?.[0])}),e("span",{class:"hint",children:["A line for each warrant, ",e("code",{children:"document:plan#viewer@user:ann"}),", or JSON: warrants and objects as the lists of the API have them. 500 lines are written at a time, all or none. If a line is wrong, correct it and import the file again: what is there already stays as it is."]})]}),a&&e("div",{class:"field",children:[e("label",{for:"import-progress",children:[a.done," of ",a.of," lines"]}),e("progress",{id:"import-progress",max:a.of,value:a.done})]})]})}function pe({page:t}){const{page:n,parameters:r}=x.value;return!t.prevCursor&&!t.nextCursor?null:e("nav",{class:"pager","aria-label":"Pages",children:[e("button",{type:"button",class:"quiet",disabled:!t.prevCursor,onClick:()=>j(n,{...r,prev:t.prevCursor,next:void 0}),children:"Previous"}),e("button",{type:"button",class:"quiet",disabled:!t.nextCursor,onClick:()=>j(n,{...r,next:t.nextCursor,prev:void 0}),children:"Next"})]})}function se({label:t,headings:n,hasActions:r,children:s}){return e("div",{class:"scrolled",tabIndex:0,role:"region","aria-label":t,children:e("table",{children:[e("thead",{children:e("tr",{children:[n.map(a=>e("th",{scope:"col",children:a},a)),r&&e("th",{scope:"col",children:e("span",{class:"sr",children:"Actions"})})]})}),e("tbody",{children:s})]})})}const Nr=1e3,ce=1e3,Mr=5;function De({objectType:t,objectId:n}){return`v2/objects/${encodeURIComponent(t)}/${encodeURIComponent(n)}`}async function Xt(t,n,r){const s=await K(t,{query:n,signal:r});return{value:await s.json(),token:s.headers.get("Warrant-Token")??""}}function Ee(t,n){return Xt(De(t),{},n)}async function Ie(t,n){const r=new Map,{objectType:s,objectId:a}=t;let i;for(const c of[{objectType:s,objectId:a},{subjectType:s,subjectId:a}]){let l;do{const d={...c,limit:Nr,nextCursor:l,asOf:i},h=await Xt("v2/warrants",d,n);i??=h.token;for(const p of h.value.results)qr(p,t)&&r.set(W(p),p);l=h.value.nextCursor}while(l&&r.size<=ce)}const o=[...r.values()];return{value:{warrants:o.slice(0,ce),isCut:o.length>ce},token:i??""}}function qr({objectType:t,objectId:n,subject:r},s){return t===s.objectType&&n===s.objectId||r.objectType===s.objectType&&r.objectId===s.objectId}async function Le(t,n,r,s){let{token:a}=t;for(let i=1;;i+=1){try{await E("v2/writes",{body:{preconditions:[{revision:a}],...r}});return}catch(c){if(!(c instanceof g)||c.code!=="precondition_failed"||i===Mr)throw c}const o=await n();if(JSON.stringify(o.value)!==JSON.stringify(t.value))throw new g(409,"changed",s);a=o.token}}function _r(t,n,r){const{objectType:s,meta:a}=t,i={objectType:s,objectId:t.objectId},o=l=>l.objectType===s&&l.objectId===i.objectId?{...l,objectId:r}:l,c=n.map(l=>{const{startsAt:d,expiresAt:h}=l,p=o(le(l));return{...p,subject:o(p.subject),...d?{startsAt:d}:{},...h?{expiresAt:h}:{}}});return{delete:{warrants:n.map(le),objects:[i]},create:{objects:[{objectType:s,objectId:r,...a?{meta:a}:{}}],warrants:c}}}function en(t){if(!t.trim())return{};try{const n=JSON.parse(t);if(typeof n=="object"&&n!==null&&!Array.isArray(n))return n}catch(n){throw new g(400,"invalid",`The meta is not JSON: ${n instanceof Error?n.message:""}`)}throw new g(400,"invalid",'The meta must be a JSON object, as in {"name": "Roadmap"}')}function et(t){return`Somebody else has just changed ${y(t)} or a warrant that names it. Nothing was written; look at it again`}const ft=ce/2-1,Fe=5;function tn({text:t,onInput:n}){return e("div",{class:"field",children:[e("label",{for:"meta",children:"Meta"}),e("textarea",{id:"meta",class:"code",rows:Math.min(Math.max(t.split(`
`).length,4),14),spellcheck:!1,placeholder:'{"name": "Roadmap"}',"aria-describedby":"meta-hint",value:t,onInput:r=>n(r.currentTarget.value)}),e("span",{class:"hint",id:"meta-hint",children:"A JSON object. It is shown and searched, and decides nothing."})]})}function Dr({type:t="",onClose:n}){const[r,s]=m({type:t,id:"",meta:""}),a=F(void 0);async function i(){const o=en(r.meta),c=r.type.trim(),l=r.id.trim();if(l){const d={objectType:c,objectId:l};await Lr(d,o),a.current=d}else a.current=await E("v2/objects",{body:{objectType:c,meta:o}})}return e(I,{title:"New object",action:"Create",isReady:r.type.trim()!=="",onConfirm:i,onClose:()=>{n(),a.current&&j("object",{name:y(a.current)})},children:[e(P,{label:"Type",placeholder:"document",value:r.type,complete:Wn,onInput:o=>s(c=>({...c,type:o})),isRequired:!0}),e("div",{class:"field",children:[e("label",{for:"object-id",children:"Id"}),e("input",{id:"object-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"roadmap","aria-describedby":"object-id-hint",value:r.id,onInput:o=>s({...r,id:o.currentTarget.value})}),e("span",{class:"hint",id:"object-id-hint",children:"Leave it empty for an id that the service makes."})]}),e(tn,{text:r.meta,onInput:o=>s({...r,meta:o})})]})}async function Lr(t,n){try{await E("v2/writes",{body:{preconditions:[{absent:t}],create:{objects:[{...t,meta:n}]}}})}catch(r){throw!(r instanceof g)||r.code!=="precondition_failed"?r:new g(400,"exists",`${y(t)} exists already`)}}function Wr({object:t,onDone:n,onClose:r}){const[s,a]=m(),i=A(d=>Ee(t,d),[y(t)]),o=i.value,c=s??(o?JSON.stringify(o.value.meta??{},null,2):"");async function l(){if(!o)return;const d={create:{objects:[{...t,meta:en(c)}]}};await Le(o,()=>Ee(t),d,et(t)),n(`Saved the meta of ${y(t)}.`)}return e(I,{title:`Meta of ${y(t)}`,action:"Save",isReady:o!==void 0,onConfirm:l,onClose:r,children:[i.fault&&e(T,{fault:i.fault,retry:i.reload}),!o&&!i.fault&&e(O,{what:"Reading the object"}),o&&e(tn,{text:c,onInput:a})]})}function Pr({object:t,onDone:n,onClose:r}){const s=y(t),a=A(c=>Ie(t,c),[s]),i=a.value;async function o(){i&&(i.value.isCut?await E(De(t),{method:"DELETE"}):await Le(i,()=>Ie(t),{delete:{objects:[t]}},et(t)),n(`Deleted ${s}.`))}return e(I,{title:`Delete ${s}?`,action:"Delete",isDangerous:!0,isReady:i!==void 0,onConfirm:o,onClose:r,children:[a.fault&&e(T,{fault:a.fault,retry:a.reload}),!i&&!a.fault&&e(O,{what:"Finding what ends with it"}),i&&e(w,{children:[e(nn,{warrants:i.value.warrants,isCut:i.value.isCut,verb:"delete"}),i.value.isCut?e("p",{children:"These are too many to say who loses access."}):i.value.warrants.length>0&&e(ke,{proposal:{create:[],delete:i.value.warrants.map(le)}}),e("p",{class:"hint",children:["Access through a wildcard, such as ",t.objectType,":*, ends with it, too. The history keeps all of it."]})]})]})}const Fr={delete:"with it",move:"with it, and are made anew for the new id"};function nn({warrants:t,isCut:n,verb:r}){if(t.length===0)return e("p",{children:"No warrant names it."});const s=n?`More than ${t.length.toLocaleString()}`:t.length.toLocaleString();return e(w,{children:[e("p",{children:[s," ",t.length===1?"warrant names it and ends":"warrants name it and end"," ",Fr[r],":"]}),e("ul",{class:"changes",children:[t.slice(0,Fe).map(a=>e("li",{children:[e("span",{class:`verb ${r}`,children:r})," ",e("code",{children:W(a)})]},W(a))),t.length>Fe&&e("li",{class:"hint",children:["and ",(t.length-Fe).toLocaleString()," more"]})]})]})}function Gr({object:t,onClose:n}){const r=y(t),[s,a]=m(t.objectId),[i,o]=m(!1),c=F(!1),l=A(b=>bt(t,b),[r]),d=l.value,h=s.trim(),p=d!==void 0&&d.value.naming.warrants.length>ft,u=d&&_r(d.value.stored,d.value.naming.warrants,h),f=h!==""&&h!==t.objectId;async function v(){if(!d||!u)return;const b={objectType:t.objectType,objectId:h};await Br(b),await Le(d,()=>bt(t),u,et(t)),c.current=!0}return e(I,{title:`Rename ${r}`,action:"Rename",isReady:f&&d!==void 0&&!p,onConfirm:v,onClose:()=>{n(),c.current&&j("object",{name:`${t.objectType}:${h}`})},children:[l.fault&&e(T,{fault:l.fault,retry:l.reload}),!d&&!l.fault&&e(O,{what:"Finding what names it"}),e("div",{class:"field",children:[e("label",{for:"new-id",children:"New id"}),e("input",{id:"new-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,required:!0,value:s,onInput:b=>{a(b.currentTarget.value),o(!1)}})]}),d&&p&&e("p",{children:["More than ",ft," warrants name it, too many for one write. Create the object with its new id, copy the warrants with"," ",e("code",{children:"magistrate export"})," and ",e("code",{children:"magistrate import"}),", and delete this one."]}),d&&u&&!p&&e(w,{children:[e(nn,{warrants:d.value.naming.warrants,isCut:!1,verb:"move"}),i?e(ke,{proposal:{create:u.create.warrants,delete:u.delete.warrants}}):d.value.naming.warrants.length>0&&e("button",{type:"button",class:"quiet",disabled:!f,onClick:()=>o(!0),children:"What would it change?"}),e("p",{class:"hint",children:["It is one write: the object with its meta, and every warrant, all or none. Applications that know it by its old id find nothing any more.",d.value.naming.warrants.some(b=>b.policy?.includes("expiresIn"))&&" Conditions with expiresIn count from now, when the warrants are made anew."]})]})]})}async function bt(t,n){const r=await Ee(t,n),s=await Ie(t,n);return{value:{stored:r.value,naming:s.value},token:r.token}}async function Br(t){try{await Ee(t)}catch(n){if(n instanceof g&&n.status===404)return;throw n}throw new g(400,"exists",`${y(t)} exists already: choose an id that is free`)}const Ur=Bt();function rn({object:t="",subject:n="",onDone:r,onClose:s}){const[a,i]=m({object:t,relation:"",subject:n,policy:"",expires:""}),[o,c]=m(),l=u=>f=>{c(void 0),i(v=>({...v,[u]:f}))};function d(){const u=Y(a.object),f=Pn(a.subject);if(!u)throw new g(400,"invalid","The object must be written type:id, as in document:roadmap");if(!f)throw new g(400,"invalid","The subject must be written type:id or type:id#relation");const v={...u,relation:a.relation.trim(),subject:f};return a.policy.trim()&&(v.policy=a.policy.trim()),a.expires&&(v.expiresAt=new Date(a.expires).toISOString()),v}async function h(){const u=d();await E("v2/warrants",{body:u}),r(`Created ${z(u)}.`)}function p(){try{c(d())}catch(u){if(!(u instanceof g))throw u;c(void 0)}}return e(I,{title:"New warrant",action:"Create",onConfirm:h,onClose:s,children:[e(P,{label:"Subject",placeholder:"user:kim or group:eng#member",value:a.subject,complete:Gt,onInput:l("subject"),isRequired:!0}),e(P,{label:"Relation",placeholder:"viewer",value:a.relation,complete:Ur,onInput:l("relation"),isRequired:!0}),e(P,{label:"Object",placeholder:"document:roadmap",value:a.object,complete:de,onInput:l("object"),isRequired:!0}),e("details",{children:[e("summary",{children:"Conditions"}),e("div",{class:"field",children:[e("label",{for:"policy",children:"Policy"}),e("input",{id:"policy",type:"text",class:"code",placeholder:'network == "office"',value:a.policy,onInput:u=>l("policy")(u.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"expires",children:"Expires at"}),e("input",{id:"expires",type:"datetime-local",value:a.expires,onInput:u=>l("expires")(u.currentTarget.value)})]})]}),o?e(ke,{proposal:{create:[o],delete:[]}}):e("button",{type:"button",class:"quiet",onClick:p,disabled:!a.object||!a.relation||!a.subject,children:"What would it change?"})]})}function zr({warrant:t,onDone:n,onClose:r}){const s=le(t);async function a(){await E("v2/warrants",{method:"DELETE",body:s}),n(`Deleted ${z(t)}.`)}return e(I,{title:"Delete this warrant?",action:"Delete",isDangerous:!0,onConfirm:a,onClose:r,children:[e("ul",{class:"changes",children:e("li",{children:[e("span",{class:"verb delete",children:"delete"})," ",e("code",{children:z(t)})]})}),e(ke,{proposal:{create:[],delete:[s]}})]})}function an({warrants:t,onDone:n}){const[r,s]=m();return e(w,{children:[e(se,{label:"Warrants",headings:["Subject","Relation","Object","Condition","Created"],hasActions:!0,children:t.map(a=>e("tr",{children:[e("td",{children:e(Ut,{subject:a.subject})}),e("td",{children:e("b",{children:a.relation})}),e("td",{children:e(ae,{object:a})}),e("td",{children:e(Hr,{warrant:a})}),e("td",{class:"time",children:a.createdAt&&_(a.createdAt)}),e("td",{class:"row-actions",children:[!a.subject.relation&&a.subject.objectId!=="*"&&a.objectId!=="*"&&e("a",{href:C("why",{subject:y(a.subject),relation:a.relation,object:y(a)}),children:["Why",e("span",{class:"sr",children:[" ",z(a)]})]}),e($,{needs:{scope:"write"},class:"quiet",onClick:()=>s(a),children:["Delete…",e("span",{class:"sr",children:[" ",z(a)]})]})]})]},z(a)+(a.policy??"")))}),r&&e(zr,{warrant:r,onDone:n,onClose:()=>s(void 0)})]})}function Hr({warrant:t}){return e(w,{children:[t.policy&&e("code",{children:t.policy}),t.startsAt&&e("span",{class:"hint",children:["from ",_(t.startsAt)," "]}),t.expiresAt&&e("span",{class:"hint",children:["until ",_(t.expiresAt)]})]})}const sn=50,me={scope:"write"},tt={next:void 0,prev:void 0};function Jr(){const t=x.value.parameters.show==="warrants",{open:n}=x.value.parameters,[r,s]=m();L(()=>{n&&(G.value===void 0&&!je(me)&&s(n),B({open:void 0}))},[n]);const[a,i]=m("");return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Data"}),e("nav",{class:"tabs","aria-label":"Kinds of data",children:[e("a",{href:C("data"),"aria-current":t?void 0:"page",children:"Objects"}),e("a",{href:C("data",{show:"warrants"}),"aria-current":t?"page":void 0,children:"Warrants"})]}),e("div",{class:"actions",children:[e(Xe,{needs:me}),e($,{needs:me,class:"quiet",onClick:()=>s("file"),children:"Import a file…"}),e($,{needs:me,class:"quiet",onClick:()=>s("object"),children:"New object"}),e($,{needs:me,class:"primary",onClick:()=>s("warrant"),children:[e(he,{name:"plus"}),"New warrant"]})]})]}),a&&e(Z,{children:e("p",{children:a})}),t?e(Zr,{turn:a,onDone:i}):e(Kr,{turn:a}),r==="object"&&e(Dr,{type:x.value.parameters.type,onClose:()=>s(void 0)}),r==="warrant"&&e(rn,{onDone:i,onClose:()=>s(void 0)}),r==="file"&&e($r,{onDone:i,onClose:()=>s(void 0)})]})}function Kr({turn:t}){const{type:n=N.value?.[0],q:r,sort:s,order:a,next:i,prev:o,at:c}=x.value.parameters,l=A(d=>R("v2/objects",{query:{objectType:n,q:r,limit:sn,sortBy:s,sortOrder:a,nextCursor:i,prevCursor:o,asOf:c},signal:d}),[n,r,s,a,i,o,c,t]);return e(w,{children:[e("form",{class:"filters",onSubmit:d=>d.preventDefault(),children:[e(Xr,{label:"Type",name:"type",value:n}),e("div",{class:"field",children:[e("label",{for:"q",children:"Contains"}),e("input",{id:"q",type:"search",value:r??"",placeholder:"a part of the id or the meta",onChange:d=>B({q:d.currentTarget.value||void 0,...tt})})]}),e(on,{sorts:{objectId:"Id",createdAt:"Created"}})]}),l.fault&&e(T,{fault:l.fault,retry:l.reload}),!l.value&&!l.fault&&e(O,{what:"Reading objects"}),l.value?.results.length===0&&e(Vr,{isFiltered:!!(n||r),onLoaded:l.reload}),l.value&&l.value.results.length>0&&e(w,{children:[e(Yr,{objects:l.value.results}),e(pe,{page:l.value})]})]})}function Vr({isFiltered:t,onLoaded:n}){return t?e(M,{title:"No object has all of this."}):ue.value?.length===0?e(M,{title:"There are no objects yet.",children:[e("p",{children:["First, a ",e("a",{href:C("model"),children:"model"})," says which types of objects there are. Write one, or start with an example: documents in folders, shared with people and groups."]}),e(zt,{onDone:n})]}):e(M,{title:"There are no objects yet.",children:e("p",{children:"A warrant creates the objects that it names. Start with a new warrant, or import a file of warrants and objects."})})}function Yr({objects:t}){return e(se,{label:"Objects",headings:["Object","Meta","Created"],children:t.map(n=>e("tr",{children:[e("td",{children:e(ae,{object:n})}),e("td",{class:"meta",children:Ht(n.meta)}),e("td",{class:"time",children:_(n.createdAt)})]},y(n)))})}const Qr=Bt();function Zr({turn:t,onDone:n}){const r=x.value.parameters,{object:s="",relation:a="",subject:i="",order:o,next:c,prev:l,at:d}=r,[h,p]=m({object:s,relation:a,subject:i}),u=A(b=>{const k=Y(s),D=Y(i),q={objectType:k?.objectType??(s.replace(/:$/,"")||N.value?.[0]),objectId:k?.objectId,relation:a,subjectType:D?.objectType??(i.replace(/:$/,"")||void 0),subjectId:D?.objectId,limit:sn,sortOrder:o,nextCursor:c,prevCursor:l,asOf:d};return R("v2/warrants",{query:q,signal:b})},[s,a,i,o,c,l,d,t]),f=b=>{j("data",{show:"warrants",order:o,...h,...b})},v=!!(s||a||i);return e(w,{children:[e("form",{class:"filters",onSubmit:b=>{b.preventDefault(),f({})},children:[e(P,{label:"Subject",placeholder:"any",value:h.subject,complete:de,onInput:b=>p({...h,subject:b}),onChoose:b=>f({subject:b})}),e(P,{label:"Relation",placeholder:"any",value:h.relation,complete:Qr,onInput:b=>p({...h,relation:b}),onChoose:b=>f({relation:b})}),e(P,{label:"Object",placeholder:N.value?`any ${N.value[0]}`:"any",value:h.object,complete:de,onInput:b=>p({...h,object:b}),onChoose:b=>f({object:b})}),e(on,{sorts:{createdAt:"Created"}}),e("button",{type:"submit",class:"quiet",children:"Filter"})]}),u.fault&&e(T,{fault:u.fault,retry:u.reload}),!u.value&&!u.fault&&e(O,{what:"Reading warrants"}),u.value?.results.length===0&&e(M,{title:v?"No warrant has all of this.":"There are no warrants yet.",children:e("p",{children:v?"Leave a field empty to see more. This lists what is written; what rules give is under Queries.":"A warrant gives a subject a relation on an object, as in: user:kim is viewer of document:roadmap."})}),u.value&&u.value.results.length>0&&e(w,{children:[e(an,{warrants:u.value.results,onDone:n}),e(pe,{page:u.value})]})]})}function Xr({label:t,name:n,value:r}){const s=N.value??Te();return e("div",{class:"field",children:[e("label",{for:n,children:t}),e("select",{id:n,value:r??"",onChange:a=>B({[n]:a.currentTarget.value||void 0,...tt}),children:[!N.value&&e("option",{value:"",children:"all"}),r&&!s.includes(r)&&e("option",{value:r,children:r}),s.map(a=>e("option",{value:a,children:a},a))]})]})}function on({sorts:t}){const{sort:n=Object.keys(t)[0],order:r="ASC"}=x.value.parameters;return e("div",{class:"field",children:[e("label",{for:"order",children:"Order"}),e("select",{id:"order",value:`${n} ${r}`,onChange:s=>{const[a,i]=s.currentTarget.value.split(" ");B({sort:a,order:i,...tt})},children:Object.entries(t).flatMap(([s,a])=>[e("option",{value:`${s} ASC`,children:[a,", ascending"]},`${s} ASC`),e("option",{value:`${s} DESC`,children:[a,", descending"]},`${s} DESC`)])})]})}function ea({count:t,onSubmit:n,children:r}){const[s,a]=m(!1);return e("form",{class:s?"filters":"filters folded",onSubmit:i=>{i.preventDefault(),n?.()},children:[e("button",{type:"button",class:"quiet unfold","aria-expanded":s,onClick:()=>a(!s),children:s?"Hide the filters":t>0?`Filters (${t})`:"Filters"}),r]})}const ta=[["history","Past changes"],["live","Live"]];function cn(){return e("nav",{class:"tabs","aria-label":"Changes",children:ta.map(([t,n])=>e("a",{href:C(t),"aria-current":t===x.value.page?"page":void 0,children:n},t))})}const vt=2,na=4e6;function ln(t,n){const[r,s]=[t.split(`
`),n.split(`
`)];let a=0;for(;a<r.length&&a<s.length&&r[a]===s[a];)a+=1;let i=0;for(;i<r.length-a&&i<s.length-a&&r.at(-1-i)===s.at(-1-i);)i+=1;const o=ra(r.slice(a,r.length-i),s.slice(a,s.length-i));if(o===void 0)return;const c=l=>({sign:" ",text:l});return aa([...r.slice(0,a).map(c),...o,...r.slice(r.length-i).map(c)])}function ra(t,n){const r=n.length+1;if((t.length+1)*r>na)return;const s=new Uint32Array((t.length+1)*r),a=(l,d)=>s[l*r+d]??0;for(let l=t.length-1;l>=0;l-=1)for(let d=n.length-1;d>=0;d-=1){const h=Math.max(a(l+1,d),a(l,d+1));s[l*r+d]=t[l]===n[d]?a(l+1,d+1)+1:h}const i=[];let[o,c]=[0,0];for(;o<t.length||c<n.length;){const[l,d]=[t[o],n[c]];l!==void 0&&l===d?(i.push({sign:" ",text:l}),[o,c]=[o+1,c+1]):l!==void 0&&(d===void 0||a(o+1,c)>=a(o,c+1))?(i.push({sign:"-",text:l}),o+=1):(i.push({sign:"+",text:d??""}),c+=1)}return i}function aa(t){const n=new Set;for(const[r,{sign:s}]of t.entries())if(s!==" ")for(let a=r-vt;a<=r+vt;a+=1)n.add(a);return t.flatMap((r,s)=>n.has(s)?[r]:n.has(s-1)&&t.slice(s).some(a=>a.sign!==" ")?[{sign:" ",text:""}]:[])}const We="text/plain",sa=100;async function ye(t,n){const r=await K("v2/model",{accept:We,query:{asOf:n},signal:t});return{text:await r.text(),token:r.headers.get("Service-Token")??""}}async function ia(t){return(await K("v2/model/convert",{text:t,accept:We})).text()}const oa=/299 - "([^"]*)"/g;async function ca(t,n){const s=await K("v2/model/convert",{text:t,accept:We,query:n?{leaveOut:"true"}:{}}),a=[...(s.headers.get("Warning")??"").matchAll(oa)].map(([,i=""])=>i);return{text:await s.text(),notes:a}}async function la(t,n){const r=da(await R("v2/model/convert",{text:t,accept:"application/json",signal:n})),[s,a,i,o]=await Promise.all([ye(n),R("v2/model/plan",{text:t,signal:n}),ha(r,n),K("v2/model/convert",{body:r,accept:We,signal:n}).then(c=>c.text())]);return{newest:s,plan:a,access:i,lines:ln(s.text,o)}}function da({objectTypes:t,policies:n}){const r=(s,a)=>+(s>a)-+(s<a);return{objectTypes:t.toSorted((s,a)=>r(s.type,a.type)),policies:n.toSorted((s,a)=>r(s.name,a.name))}}async function ha(t,n){try{const r={proposal:{...t,replace:!0},limit:sa};return await R("v2/difference",{body:r,signal:n})}catch(r){if(r instanceof g&&r.status===400)return r;throw r}}async function ua(t,n,r){await E("v2/model",{method:"PUT",text:t,query:r?{keepExisting:"true"}:{},headers:{"If-Match":`"${n}"`}})}function dn({warrants:t={}}){return[...t.created??[],...t.deleted??[],...t.expired??[]]}function pa({objects:t={}}){return[...t.created??[],...t.updated??[],...t.deleted??[]]}function ma(t,n,r,s){const a={actions:[],kept:[]};for(const o of dn(t))fa(o,n,r,s,a);const i=new Set(a.actions.flatMap(({verb:o,what:c})=>o==="delete"&&"warrant"in c?[W(c.warrant)]:[]));for(const o of t.objects?.created??[])ba(o,r,i,a);for(const o of t.objects?.updated??[])wt(o,!1,n,r,a);for(const o of t.objects?.deleted??[])wt(o,!0,n,r,a);return a}function fa(t,n,r,s,{actions:a,kept:i}){const o=W(t);if(a.some(({what:h})=>"warrant"in h&&W(h.warrant)===o))return;const c=n.warrants.get(o),l=r.warrants.get(o),d=c?.expiresAt!==void 0&&Date.parse(c.expiresAt)<=s;if(c&&d)i.push({name:o,reason:"would have expired by now"});else if(c&&!l)a.push({verb:"create",what:{warrant:Ge(c)}});else if(c&&l&&!gt(c,l))a.push({verb:"change",what:{warrant:Ge(c)},note:"to the time limits that it had"});else if(!c&&l){const h=gt(t,l)?void 0:"its time limits were changed since";a.push({verb:"delete",what:{warrant:Ge(l)},note:h})}else i.push({name:o,reason:c?"exists again":"is deleted already"})}function ba(t,n,r,{actions:s,kept:a}){const i=y(t),o=n.objects.get(i);o?hn(t,o)?n.naming.get(i)?.some(c=>!r.has(c))?a.push({name:i,reason:"is named by other warrants now"}):s.push({verb:"delete",what:{object:o}}):a.push({name:i,reason:"was changed since"}):a.push({name:i,reason:"is deleted already"})}function wt(t,n,r,s,{actions:a,kept:i}){const o=y(t),c=r.objects.get(o),l=s.objects.get(o);c&&(!l&&!n?i.push({name:o,reason:"does not exist any more"}):l?hn(c,l)?i.push({name:o,reason:"is as it was"}):a.push({verb:"change",what:{object:c},note:"to the meta that it had"}):a.push({verb:"create",what:{object:c}}))}function Ge(t){const{startsAt:n,expiresAt:r}=t;return{...le(t),...n?{startsAt:n}:{},...r?{expiresAt:r}:{}}}function gt(t,n){return t.startsAt===n.startsAt&&t.expiresAt===n.expiresAt}function hn(t,n){return JSON.stringify(t.meta??{})===JSON.stringify(n.meta??{})}function un(t,n){const r=o=>t.flatMap(c=>c.verb===o&&"warrant"in c.what?[c.what.warrant]:[]),s=o=>t.flatMap(c=>c.verb===o&&"object"in c.what?[c.what.object]:[]),a=new Set(r("delete").map(W)),i=s("delete").filter(o=>n.get(y(o))?.every(c=>a.has(c))??!0);return{delete:{warrants:r("delete").map(le),objects:i.map(({objectType:o,objectId:c})=>({objectType:o,objectId:c}))},create:{warrants:[...r("create"),...r("change")],objects:[...s("create"),...s("change")].map(({objectType:o,objectId:c,meta:l})=>({objectType:o,objectId:c,meta:l??{}}))}}}const va=8388608,pn=200,yt=8,wa=1e3,ga=["access_granted","access_revoked"];async function ya(t,n){const r=Jt(t),s=[["v2/resource-events",void 0],...ga.map(c=>["v2/access-events",c])],a=Se(t);return(await Promise.all(s.map(async([c,l])=>{for(const d of[r,r-1]){const p=await R(c??"",{query:{type:l,until:d,limit:100},signal:n}),u=p.results.find(f=>Se(f)<a);if(u||!p.nextCursor)return u}}))).filter(c=>c!==void 0).sort((c,l)=>Se(l)-Se(c))[0]?.token}async function ka(t,n,r){const s=new AbortController,a=await K("v2/watch",{query:{since:t},accept:"application/x-ndjson",signal:AbortSignal.any([r,s.signal])});try{return await ja(a,n)}finally{s.abort()}}async function ja(t,n){const r=t.body?.pipeThrough(new TextDecoderStream).getReader();let s="";for(let a=await r?.read();a&&!a.done;a=await r?.read()){s+=a.value;const i=s.split(`
`);s=i.pop()??"";for(const o of i){const c=JSON.parse(o);if(c.event==="revision"&&c.token===n)return c}if(s.length>va)throw nt()}throw new g(410,"gone","The stream of changes does not have this one any more")}function nt(){return new g(400,"too_large",`It changed more than can be reverted here, which is ${ce.toLocaleString()} warrants and objects`)}async function kt(t,n,r){const s=r??new AbortController().signal,a=await ka(t,n,s),[i,o]=[dn(a),pa(a)];if(i.length+o.length>ce||o.length>pn)throw nt();const c=(await K("v2/objects",{query:{limit:1},signal:s})).headers.get("Warrant-Token")??"",l={warrants:await jt(i,t,s),objects:await Ct(o,t,s)},d={warrants:await jt(i,c,s),objects:await Ct(o,c,s)},h=new Map;await rt(a.objects?.created??[],async u=>{const{value:f}=await Ie(u,s);h.set(y(u),f.warrants.map(W))});const p={...d,naming:h};return{value:{...ma(a,l,p,Date.now()),naming:h},token:c}}async function jt(t,n,r){const s=Tt(t,({objectType:l,objectId:d})=>({objectType:l,objectId:d})),a=Tt(t,({subject:l})=>({subjectType:l.objectType,subjectId:l.objectId})),i=s.length<=a.length?s:a;if(i.length>pn)throw nt();const o=new Set(t.map(W)),c=new Map;return await rt(i,async l=>{let d;do{const h={...l,limit:wa,nextCursor:d,asOf:n},p=await R("v2/warrants",{query:h,signal:r});for(const u of p.results)o.has(W(u))&&c.set(W(u),u);d=p.nextCursor}while(d)}),c}function Tt(t,n){return[...new Map(t.map(r=>[JSON.stringify(n(r)),n(r)])).values()]}async function Ct(t,n,r){const s=new Map;return await rt(t,async a=>{try{const{objectType:i,objectId:o,meta:c}=await R(De(a),{query:{asOf:n},signal:r});s.set(y(a),{objectType:i,objectId:o,...c?{meta:c}:{}})}catch(i){if(!(i instanceof g)||i.status!==404)throw i}}),s}async function rt(t,n){for(let r=0;r<t.length;r+=yt)await Promise.all(t.slice(r,r+yt).map(n))}function St(t){return!Ae(t)&&t.kind!=="object"}async function Ta(t,n,r){const[s,a]=await Promise.all([n,void 0].map(d=>R("v2/model",{query:{asOf:d},accept:"application/json",signal:r})));if(!s||!a)throw new Error("two models were requested");const i=d=>new Set(t.flatMap(h=>!Ae(h)&&h.kind===d?[h.resourceId]:[])),o=i("object-type"),c=i("named-policy"),l={objectTypes:[...a.objectTypes.filter(d=>!o.has(d.type)),...s.objectTypes.filter(d=>o.has(d.type))],policies:[...a.policies.filter(d=>!c.has(d.name)),...s.policies.filter(d=>c.has(d.name))]};return(await K("v2/model/convert",{body:l,accept:"text/plain",signal:r})).text()}const Ca={created:"plus",updated:"model",deleted:"no",expired:"history"};function xt({change:{verb:t,what:n}}){return e("li",{class:t,children:[e("span",{class:"sign",children:[e(he,{name:Ca[t]}),t]}),"warrant"in n?e("span",{children:["warrant: ",e(qe,{warrant:n.warrant})]}):"object"in n?e("span",{children:["object ",e(ae,{object:n.object})]}):e("span",{children:[n.kind," ",e("span",{class:"name",children:n.name})]})]})}const xe=3;function mn({changes:t,count:n=t.length}){return e(w,{children:[e("ul",{class:"events",children:t.slice(0,xe).map((r,s)=>e(xt,{change:r},s))}),n>xe&&e("details",{children:[e("summary",{children:[(n-xe).toLocaleString()," more in this change"]}),e("ul",{class:"events",children:t.slice(xe).map((r,s)=>e(xt,{change:r},s))}),n>t.length&&e("p",{class:"hint",children:["The other ",(n-t.length).toLocaleString()," are not listed here."]})]})]})}const Sa={"+":"added: ","-":"removed: "," ":""};function fn({lines:t}){return e("div",{class:"changed-lines",tabIndex:0,role:"region","aria-label":"Changed lines",children:t.map(({sign:n,text:r},s)=>e("div",{class:n==="+"?"added":n==="-"?"removed":void 0,children:[e("span",{"aria-hidden":"true",children:[n," "]}),e("span",{class:"sr",children:Sa[n]}),r]},s))})}const xa=50;function bn({before:t,token:n}){const[r,s]=m([]),[a,i]=m(),o=A(c=>R("v2/difference",{query:{from:t,to:n,limit:xa,nextCursor:a},signal:c}),[t,n,a]);return L(()=>{const c=o.value;c&&s(l=>[...l,...c.results])},[o.value]),o.fault?e(T,{fault:o.fault,retry:o.reload}):o.value?o.value.results.length===0&&r.length===0?e("p",{class:"hint",children:"Nobody gained or lost access."}):e(w,{children:[e(Fn,{rows:r}),o.value.nextCursor&&e("button",{type:"button",class:"quiet",disabled:o.isLoading,onClick:()=>i(o.value?.nextCursor),children:"Show more"})]}):e(O,{what:"Comparing access"})}const Oa=/(^|[^/])\/\/(?!\/)/m,Be=5;function vn({text:t,base:n,onSaved:r,onClose:s}){const a=A(h=>la(t,h),[t]),[i,o]=m(!1),c=a.value,l=c!==void 0&&c.plan.stranded.length>0&&!i;async function d(){if(c){try{await ua(t,c.newest.token,i)}catch(h){if(!(h instanceof g)||h.status!==412)throw h;a.reload();const p="Somebody else has just changed the model. Nothing was saved, and your text is still here";throw new g(412,h.code,p)}r()}}return e(I,{title:"Save this model?",action:"Save",isReady:c!==void 0&&!a.isLoading&&!l&&!wn(c),onConfirm:d,onClose:s,children:[a.fault&&e(T,{fault:a.fault,retry:a.reload}),!c&&!a.fault&&e(O,{what:"Finding what it would change"}),c&&e(w,{children:[c.newest.text!==n.text&&e(Z,{children:e("p",{children:[e("strong",{children:"Somebody else has changed the model since you opened it."})," What you see here is compared with the model as it is now: lines that you did not change are changes of somebody else, which yours would undo."]})}),e(Aa,{review:c}),Oa.test(t)&&e("p",{class:"hint",children:["Comments (",e("code",{children:"//"}),") are not stored with the model; descriptions (",e("code",{children:"///"}),") are."]}),c.plan.stranded.length>0&&e(Ea,{review:c,isKept:i,onKeep:o}),e("section",{class:"effect-of-model",children:[e("h3",{children:"Access"}),c.access instanceof g?e("p",{children:["It is not known who gains and who loses: ",c.access.message,"."]}):e(Gn,{rows:c.access.results,hasMore:c.access.nextCursor!==void 0})]})]})]})}function wn({plan:t}){return[t.objectTypes,t.policies].every(n=>Object.values(n).every(r=>r.length===0))}function Aa({review:t}){if(wn(t))return e("p",{children:"Nothing would change: the service has this model."});const{plan:n,lines:r}=t;return e(w,{children:[e("ul",{class:"changes",children:[e(Ot,{kind:"object type",changes:n.objectTypes}),e(Ot,{kind:"policy",changes:n.policies})]}),r?e(fn,{lines:r}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})]})}const Ra=[["created","create"],["changed","change"],["deleted","delete"]];function Ot({kind:t,changes:n}){return e(w,{children:Ra.map(([r,s])=>n[r].map(a=>e("li",{children:[e("span",{class:`verb ${s}`,children:s})," ",e("span",{children:[t," ",e("span",{class:"name",children:a})]})]},r+a)))})}function Ea({review:t,isKept:n,onKeep:r}){const{stranded:s,more:a}=t.plan;return e("div",{class:"notice fault",role:"alert",children:[e("p",{children:e("strong",{children:[a?`More than ${s.length}`:s.length," ",s.length===1&&!a?"warrant is":"warrants are"," not allowed by this model:"]})}),e("ul",{children:[s.slice(0,Be).map(i=>e("li",{children:e("code",{children:z(i)})},z(i))),s.length>Be&&e("li",{children:["and ",a?"more":`${s.length-Be} more`]})]}),e("p",{children:"Delete them first, allow them, or keep them: they stay stored, and count again when a model allows them."}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:n,onChange:i=>r(i.currentTarget.checked)}),"Keep them without effect"]})]})}const Ia="Somebody else has just changed what this would revert. Nothing was written; look at it again";function $a({revision:t,findBefore:n,onDone:r,onClose:s}){const{token:a}=t,i=A(async v=>{const b=await n(v);return{before:b,seen:await kt(b,a,v)}},[a]),[o,c]=m(new Set),l=i.value,d=l?.seen.value.actions??[],h=d.filter(v=>!o.has(fe(v))),p=l?.seen.value.naming??new Map;async function u(){if(!l)return;const v=un(h,p);await Le(l.seen,()=>kt(l.before,a),qa(v),Ia),r(`Reverted ${h.length===1?"one change":`${h.length.toLocaleString()} changes`}.`)}function f(v){const b=new Set(o);b.delete(v)||b.add(v),c(b)}return e(I,{title:"Revert this change?",action:"Revert",isReady:h.length>0,onConfirm:u,onClose:s,children:[i.fault&&e(T,{fault:i.fault}),!l&&!i.fault&&e(O,{what:"Comparing with now"}),l&&d.length===0&&e("p",{children:"There is nothing to revert: all of it is as it was before."}),d.length>0&&e("fieldset",{class:"choices reversal",children:[e("legend",{children:"What was changed later by others stays. This would be written, all or none:"}),d.map(v=>e("label",{children:[e("input",{type:"checkbox",checked:!o.has(fe(v)),onChange:()=>f(fe(v))}),e("span",{class:`verb ${v.verb}`,children:v.verb}),e("span",{children:[e("code",{children:fe(v)}),v.note&&e("span",{class:"hint",children:[" ",v.note]})]})]},fe(v)))]}),l&&e(Ma,{kept:l.seen.value.kept}),h.length>0&&e(Na,{actions:h})]})}function fe({what:t}){return"warrant"in t?W(t.warrant):y(t.object)}function Na({actions:t}){const{delete:n,create:r}=un(t,new Map);return n.warrants.length+r.warrants.length===0?null:e(ke,{proposal:{create:r.warrants,delete:n.warrants}})}function Ma({kept:t}){return t.length===0?null:e("details",{children:[e("summary",{children:[t.length.toLocaleString()," ",t.length===1?"stays":"stay"," as now"]}),e("ul",{class:"kept",children:t.map(({name:n,reason:r})=>e("li",{children:[e("code",{children:n})," ",r]},n))})]})}function qa(t){const n=s=>Object.fromEntries(Object.entries(s).filter(([,a])=>a.length>0)),r={delete:n(t.delete),create:n(t.create)};return Object.fromEntries(Object.entries(r).filter(([,s])=>Object.keys(s).length>0))}function _a({revision:t,findBefore:n,onDone:r,onClose:s}){const a=A(async i=>({text:await Ta(t.events,await n(i),i),base:await ye(i)}),[t.token]);return a.value?e(vn,{...a.value,onSaved:()=>{r("The definitions are as they were before."),Ze()},onClose:s}):e(I,{title:"Revert the model?",action:"Save",isReady:!1,onConfirm:Da,onClose:s,children:a.fault?e(T,{fault:a.fault}):e(O,{what:"Reading the model"})})}function Da(){return Promise.reject(new g(400,"invalid","It is not known yet what to save"))}function gn({time:t,isExact:n=!1}){return e("time",{dateTime:t,title:t,children:n?re(t):_(t)})}function La({revision:t,isComplete:n,onDone:r}){const{token:s,createdAt:a,actor:i,events:o}=t,c=x.value.parameters.moment===s,[l,d]=m(),h=o.some(St),p=o.some(k=>!St(k)),u=[...o.filter(Ae),...o.filter(k=>!Ae(k))],f=k=>Wa(t,n,k),v={revision:t,findBefore:f,onDone:r,onClose:()=>d(void 0)},b=re(a);return e("li",{"aria-current":c||s===G.value?"time":void 0,children:[e("div",{class:"revision-head",children:[e(gn,{time:a,isExact:!0}),e("span",{class:"actor",children:i??"unknown"}),e("a",{href:C("data",{at:s}),children:["As of that time",e("span",{class:"sr",children:[", ",b]})]}),e("a",{href:C("history",{moment:s,until:a}),children:["Link",e("span",{class:"sr",children:[" to this change, ",b]})]})]}),e(mn,{changes:u.map(Bn)}),t.isPartial&&e("p",{class:"hint",children:["This change has more than the ",o.length," events that are read so far."]}),!N.value&&e(w,{children:[e(At,{title:"Who gained, who lost",isFirstOpen:c,children:e(Pa,{find:f,token:s})}),h&&e(At,{title:"What changed in the model",isFirstOpen:c,children:e(Fa,{find:f,token:s})}),e("div",{class:"actions small",children:[p&&e($,{needs:{scope:"write"},class:"quiet",onClick:()=>d("data"),children:["Revert…",e("span",{class:"sr",children:[" the change of ",b]})]}),h&&e($,{needs:{scope:"model",ofAllTypes:!0},class:"quiet",onClick:()=>d("model"),children:["Revert the model…",e("span",{class:"sr",children:[" of ",b]})]})]})]}),l==="data"&&e($a,{...v}),l==="model"&&e(_a,{...v})]})}async function Wa(t,n,r){const[s]=t.events,a=n&&!t.isPartial?t.before:s&&await ya(s,r);if(a)return a;throw new g(410,"gone","This is the first change that is kept: there is nothing to compare it with")}function At({title:t,isFirstOpen:n,children:r}){const[s,a]=m(n);return e("details",{open:s,onToggle:i=>a(i.currentTarget.open),children:[e("summary",{children:t}),s&&r]})}function Pa({find:t,token:n}){const r=A(t,[n]);return r.fault?e("p",{class:"hint",children:[r.fault.message,"."]}):r.value?e(bn,{before:r.value,token:n}):e(O,{what:"Comparing access"})}function Fa({find:t,token:n}){const r=A(async a=>{const[i,o]=await Promise.all([ye(a,await t(a)),ye(a,n)]);return{lines:ln(i.text,o.text)}},[n]);if(r.fault)return e(T,{fault:r.fault});if(!r.value)return e(O,{what:"Comparing the models"});const{lines:s}=r.value;return s?e(fn,{lines:s}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})}const Ue=25,Ga=500;function Ba(){const{type:t=N.value?.[0],object:n="",actor:r="",until:s}=x.value.parameters,[a,i]=m({message:"",count:0}),o=Y(n),c={...o?{object:o}:{type:t},...s?{until:Ua(s)}:{}};return e("div",{class:"history",children:[e("div",{class:"heading",children:[e("h1",{children:"History"}),e(cn,{})]}),e("p",{class:"lead",children:"Every change of the model, the objects and the warrants, with who made it. Open one to see who gained and who lost access, or revert it."}),e(za,{type:t,object:n,actor:r,until:s}),a.message&&e(Z,{children:e("p",{children:a.message})}),e(Ja,{filter:c,actor:r,onDone:l=>i(({count:d})=>({message:l,count:d+1}))},JSON.stringify([c,r,a.count]))]})}function Ua(t){return t.endsWith("Z")?Jt({createdAt:t}):Date.parse(t)*1e3+999999}function za({type:t,object:n,actor:r,until:s}){const[a,i]=m(n);L(()=>i(n),[n]);const o=N.value??Te(),c=!!(t&&!N.value||n||r||s),l=(d,h)=>B({[d]:h.trim()||void 0,moment:void 0});return e(ea,{count:[N.value?"":t,n,r,s].filter(Boolean).length,onSubmit:()=>l("object",a),children:[e("div",{class:"field",children:[e("label",{for:"type",children:"Type"}),e("select",{id:"type",value:n?"":t??"",disabled:n!=="",onChange:d=>l("type",d.currentTarget.value),children:[!N.value&&e("option",{value:"",children:"all"}),o.map(d=>e("option",{value:d,children:d},d))]})]}),!N.value&&e(P,{label:"Object",placeholder:"any",value:a,complete:de,onInput:d=>{i(d),d===""&&l("object","")},onChoose:d=>l("object",d)}),e("div",{class:"field",children:[e("label",{for:"actor",children:"Made by"}),e("input",{id:"actor",type:"search",class:"code",placeholder:"anybody",value:r,onChange:d=>l("actor",d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"until",children:"Until"}),e("input",{id:"until",type:"datetime-local",step:"1",value:s?Ha(s):"",onChange:d=>l("until",d.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Filter"}),c&&e("a",{class:"quiet-link",href:C("history"),children:"All changes"})]})}function Ha(t){const n=new Date(t);return Number.isNaN(n.getTime())?"":new Date(n.getTime()-n.getTimezoneOffset()*6e4).toISOString().slice(0,19)}function Ja({filter:t,actor:n,onDone:r}){const s=F(Kt(t)),[a,i]=m(),[o,c]=m(),[l,d]=m(1);async function h(u){let f=0;for(;;){const{revisions:v,hasMore:b}=await s.current.readMore(Ue,u);f+=Ue;const k=v.filter(D=>!n||(D.actor??"unknown").includes(n));if(!b||k.length>=l*Ue||f>=Ga||!n)return{revisions:k,hasMore:b,searchedTo:v.at(-1)?.createdAt}}}L(()=>{const u=new AbortController;return h(u.signal).then(f=>!u.signal.aborted&&i(f),f=>{if(!u.signal.aborted){if(!(f instanceof g))throw f;c(f)}}),()=>u.abort()},[l]);const p=!!(t.type||t.object||t.until||n);return e(w,{children:[o&&e(T,{fault:o}),!a&&!o&&e(O,{what:"Reading changes"}),a?.revisions.length===0&&e(M,{title:p?"No change has all of this.":"Nothing has been changed yet.",children:e("p",{children:p?"Changes are listed as long as events are kept.":"What you write is listed here, as long as events are kept."})}),e("ol",{class:"timeline",children:a?.revisions.map(u=>e(La,{revision:u,isComplete:!t.type&&!t.object,onDone:r},u.token))}),a?.hasMore&&e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>d(u=>u+1),children:"Earlier changes"}),n&&a.searchedTo&&e("span",{class:"hint",children:["Looked at all changes since ",e(gn,{time:a.searchedTo,isExact:!0}),"."]})]})]})}const at=300,Ke=50,Ka=[["objectTypes","object type"],["policies","policy"]],Va=["created","updated","deleted","expired"];function Ya(t,n){const{id:r,data:s}=t,a=String(s.time),i=String(s.token);if(t.name==="revision"){const{changes:d,count:h}=Qa(s),p=typeof s.actor=="string"?s.actor:void 0;return{kind:"revision",id:r,time:a,token:i,actor:p,before:n,changes:d,count:h}}if(t.name!=="access")return;if(s.resync!==void 0)return{kind:"gap",id:r,time:a,words:"This change concerns too much access to list it."};const o=s.gained??[],c=s.lost??[],l=[...c.slice(0,Ke).map(Rt(!1)),...o.slice(0,Ke).map(Rt(!0))];return{kind:"access",id:r,time:a,at:r===i?i:a,rows:l,count:o.length+c.length}}function Rt(t){return n=>({...n,isGained:t})}function Qa(t){const n=[];let r=0;const s=(a,i)=>{for(const o of Va){const c=a?.[o]??[];r+=c.length;for(const l of c.slice(0,Ke-n.length))n.push({verb:o,...i(l)})}};s(t.warrants,a=>({what:{warrant:a}}));for(const[a,i]of Ka)s(t[a],o=>({what:{kind:i,name:String(o.type??o.name)}}));return s(t.objects,a=>({what:{object:a}})),{changes:n,count:r}}function Za(t,n){return[...n.toReversed(),...t].slice(0,at)}function Et(t){if(t.kind==="gap")return t.words;const n=t.count>1?` and ${t.count-1} more`:"";if(t.kind==="revision"){const[s]=t.changes;return`${s?Un(s):"nothing"}${n}${t.actor?`, by ${t.actor}`:""}`}const[r]=t.rows;return r?`${_e(r.subject)} ${r.isGained?"gained":"lost"} ${r.relation} on ${y(r)}${n}`:"nothing"}function Xa(t){const n=t.at(-1);return n?t.length===1?Et(n):`${t.length} new entries, the last: ${Et(n)}`:""}const ze=2;function es({entry:t}){return t.kind==="gap"?e("li",{children:[e("div",{class:"revision-head",children:e("time",{dateTime:t.time,children:re(t.time)})}),e("p",{children:[t.words," See the ",e("a",{href:C("history"),children:"past changes"}),"."]})]}):e("li",{children:[e("div",{class:"revision-head",children:[e("time",{dateTime:t.time,children:re(t.time)}),t.kind==="revision"&&e("span",{class:"actor",children:t.actor??"unknown"}),e("a",{href:C("data",{at:t.kind==="revision"?t.token:t.at}),children:["As of that time",e("span",{class:"sr",children:[", ",re(t.time)]})]})]}),t.kind==="revision"?e(ts,{entry:t}):e(ns,{entry:t})]})}function ts({entry:{before:t,token:n,changes:r,count:s}}){const[a,i]=m(!1);return e(w,{children:[e(mn,{changes:r,count:s}),t&&e("details",{onToggle:o=>i(o.currentTarget.open),children:[e("summary",{children:"Who gained, who lost"}),a&&e(bn,{before:t,token:n})]})]})}function ns({entry:{rows:t,count:n,at:r}}){return e(w,{children:[e("ul",{class:"access",children:t.map((s,a)=>e(rs,{row:s,at:r},a))}),n>t.length&&e("p",{class:"hint",children:[(n-t.length).toLocaleString()," more are not listed here."]})]})}function rs({row:t,at:n}){const r={subject:_e(t.subject),relation:t.relation,object:y(t)},s=t.objectId==="*"||t.subject.objectId==="*";return e("li",{class:t.isGained?"gained":"lost",children:[e("span",{class:"sign",children:[e(he,{name:t.isGained?"plus":"no"}),t.isGained?"gained":"lost"]}),e("div",{children:[e(Ut,{subject:t.subject})," ",e("b",{children:t.relation})," on ",e(ae,{object:t}),t.conditional&&e("span",{class:"hint",children:" if the context allows it"})," ",!s&&e("a",{href:C("why",{...r,at:n}),children:["Why",e("span",{class:"sr",children:[" ",Object.values(r).join(" ")]})]}),t.cause&&e(as,{cause:t.cause})]})]})}function as({cause:{created:t,deleted:n,objectTypes:r}}){const s=[...t.map(a=>({row:a,verb:"was created"})),...n.map(a=>({row:a,verb:"was deleted"}))];return e("div",{class:"hint",children:[s.slice(0,ze).map(({row:a,verb:i},o)=>e("div",{children:["because ",e(ss,{row:a})," ",i]},o)),r.length>0&&e("div",{children:["because the object type ",r.join(", ")," was changed"]}),s.length>ze&&e("div",{children:["and ",s.length-ze," more causes"]})]})}function ss({row:t}){return"relation"in t?e(qe,{warrant:t}):e(ae,{object:t})}const is=200,os=5e3,yn={path:"v2/watch",fields:{objectType:"Object types",relation:"Relations",subjectType:"Types of subjects"}},kn={path:"v2/watch/access",fields:{of:"Access"}};function cs(){const{parameters:t}=x.value,n=t.show==="access",r=n?ds(t):ls(t);return e("div",{class:"live",children:[e("div",{class:"heading",children:[e("h1",{children:"Live"}),e(cn,{})]}),G.value?e(M,{title:"The past does not change.",children:e("p",{children:"This page shows what is written from now on. Go back to now to see it."})}):e(w,{children:[e(hs,{isOfAccess:n},String(n)),r?e(us,{isOfAccess:n,filter:r},JSON.stringify([n,r])):e(M,{title:"Which access?",children:e("p",{children:["Write a type, a relation and a type of subjects, such as ",e("code",{children:"document#viewer@user"}),". Whoever gains or loses this access is listed here, with the cause."]})})]})]})}function ls({objectType:t,relation:n,subjectType:r}){const s=Oe(t);return{objectType:s.length>0?s:N.value??[],relation:Oe(n),subjectType:Oe(r)}}function ds({of:t,subject:n,object:r}){const s=Oe(t);return s.length>0?{of:s.join(","),subject:n,object:r}:void 0}function Oe(t=""){return t.split(/[\s,]+/).filter(Boolean)}function hs({isOfAccess:t}){const{parameters:n}=x.value,[r,s]=m(n),a=t?kn.fields:yn.fields,i=o=>c=>s({...r,[o]:c});return e("form",{class:"filters",onSubmit:o=>{o.preventDefault(),B({...r,show:n.show})},children:[e("div",{class:"field",children:[e("label",{for:"live-show",children:"Show"}),e("select",{id:"live-show",value:t?"access":"changes",onChange:o=>B({show:o.currentTarget.value==="access"?"access":void 0}),children:[e("option",{value:"changes",children:"what is written"}),e("option",{value:"access",children:"who gains and loses access"})]})]}),Object.entries(a).map(([o,c])=>e("div",{class:"field",children:[e("label",{for:`live-${o}`,children:c}),e("input",{id:`live-${o}`,type:"text",spellcheck:!1,required:t,placeholder:t?"document#viewer@user":"all",value:r[o]??"",onInput:l=>i(o)(l.currentTarget.value)})]},o)),t&&e(w,{children:[e(P,{label:"Subject",value:r.subject??"",placeholder:"all",complete:Gt,onInput:i("subject")}),e(P,{label:"Object",value:r.object??"",placeholder:"all",complete:de,onInput:i("object")})]}),e("button",{type:"submit",class:"quiet",children:"Filter"})]})}function us({isOfAccess:t,filter:n}){const{state:r,entries:s,isPaused:a,setPaused:i,retry:o,clear:c}=ms(t?kn.path:yn.path,n),l=fs(s);return e(w,{children:[e("div",{class:"actions",children:[e("div",{role:"status",children:e(ps,{state:r,isPaused:a})}),e("button",{type:"button",class:"quiet","aria-pressed":a,onClick:()=>i(!a),children:a?"Continue":"Pause"}),e("button",{type:"button",class:"quiet",disabled:s.length===0,onClick:c,children:"Clear"}),r.is==="waiting"&&!a&&e("button",{type:"button",class:"quiet",onClick:o,children:"Connect now"})]}),r.is==="stopped"&&e(T,{fault:r.fault,retry:o}),e("p",{class:"sr",role:"status",children:l}),s.length===0&&r.is==="connected"&&!a&&e(M,{title:"Nothing has happened yet.",children:e("p",{children:["What is written from now on is listed here, ",at," entries at most."]})}),e("ol",{class:"timeline","aria-label":t?"Access gained and lost":"Changes",children:s.map(d=>e(es,{entry:d},d.id))})]})}function ps({state:t,isPaused:n}){return n?e(w,{children:[e(J,{tone:"unknown",children:"Paused"})," ",e("span",{class:"hint",children:"It goes on with what follows the first entry."})]}):t.is==="connected"?e(J,{tone:"yes",children:"Connected"}):t.is==="connecting"?e(J,{tone:"unknown",children:"Connecting"}):e(w,{children:[e(J,{tone:"no",children:"Not connected"})," ",t.is==="waiting"&&e("span",{class:"hint",children:[t.fault?.message??"The connection was cut."," It is tried again ",t.seconds===1?"at once":`in ${t.seconds} s`,"."]})]})}function ms(t,n){const[r,s]=m({is:"connecting"}),[a,i]=m([]),[o,c]=m(!1),l=F(null);return L(()=>{const d=Object.values(n).flat().filter(Boolean).length===0,h=[];let p,u,f=0;const v=()=>{p=void 0;const q=h.splice(0);i(X=>Za(X,q))},b=q=>{h.push(q),h.length>at&&h.shift(),p??=setTimeout(v,is)},k=q=>{const X=Ya(q,u);d&&(u=String(q.data.token)),X&&b(X)},D=()=>{f+=1,u=void 0,b({kind:"gap",id:`gap-${f}`,time:new Date().toISOString(),words:"Changes before this are missing: they are not kept any more, or the store was restored."})};return l.current=zn(t,n,{onState:s,onEvent:k,onGap:D}),()=>clearTimeout(p)},[]),L(()=>(o||l.current?.start(),()=>l.current?.stop()),[o]),{state:r,entries:a,isPaused:o,setPaused:c,retry:()=>l.current?.start(),clear:()=>i([])}}function fs(t){const[n,r]=m(""),s=F(void 0),a=F(0);return L(()=>{const i=t.findIndex(l=>l.id===s.current),o=i<0?t:t.slice(0,i);if(o.length===0)return;const c=setTimeout(()=>{s.current=t[0]?.id,a.current=Date.now()+os,r(Xa(o.toReversed()))},Math.max(0,a.current-Date.now()));return()=>clearTimeout(c)},[t]),n}const bs=["type","id","relation","implicit","warrant"];function vs(t){const n=t.map(r=>[r.objectType,r.objectId+(r.subjectRelation?`#${r.subjectRelation}`:""),r.relation,String(r.isImplicit),r.warrant?z(r.warrant):""]);return[bs,...n].map(r=>r.map(ws).join(",")).join(`\r
`)+`\r
`}function ws(t){const n=/^[=+\-@\t\r]/.test(t)?`'${t}`:t;return/[",\r\n]/.test(n)?`"${n.replaceAll('"','""')}"`:n}function $e(t,n,r){const s=URL.createObjectURL(new Blob([r],{type:n})),a=document.createElement("a");a.href=s,a.download=t,a.click(),setTimeout(()=>URL.revokeObjectURL(s),0)}const It=1048576;function gs({onImported:t,onClose:n}){const[r,s]=m(""),[a,i]=m(!1);async function o(l){l&&s((await l.text()).slice(0,It+1))}async function c(){if(r.trim()==="")throw new g(400,"invalid","Paste a model, or choose a file");if(r.length>It)throw new g(400,"invalid","The model has more than 1,048,576 characters; use the command magistrate model convert");t(await ca(r,a))}return e(I,{title:"Import a model",action:"Convert",onConfirm:c,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"model-file",children:"File"}),e("input",{id:"model-file",type:"file",onChange:l=>{o(l.currentTarget.files?.[0])}})]}),e("div",{class:"field",children:[e("label",{for:"foreign-model",children:"Or paste the model"}),e("textarea",{id:"foreign-model",class:"code",rows:12,spellcheck:!1,"aria-describedby":"foreign-model-hint",value:r,onInput:l=>s(l.currentTarget.value)}),e("span",{class:"hint",id:"foreign-model-hint",children:"A model of OpenFGA, in its language or as JSON, a schema of SpiceDB, or a model of this service. It is put into the editor; nothing is saved yet."})]}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:a,onChange:l=>i(l.currentTarget.checked)}),"Leave out what cannot be expressed here, with all that depends on it"]})]})}const ys=300,$t={scope:"model",ofAllTypes:!0},ks=`version 1.0

type user

type document
    relation owner [user]

    relation viewer [user]
    inherit viewer if
        relation owner
`,Ve=Hn(void 0);function js(){const t=A(s=>ye(s,G.value),[G.value]),[n,r]=m("");return e("div",{class:"wide model",children:[e("h1",{children:"Model"}),n&&e(Z,{children:e("p",{children:n})}),t.fault&&e(T,{fault:t.fault,retry:t.reload}),t.value===void 0&&!t.fault&&e(O,{what:"Reading the model"}),t.value!==void 0&&e(Ts,{stored:t.value,onSaved:()=>{Ve.value=void 0,r("The model was saved."),t.reload(),Ze()},onChange:()=>r("")},`${G.value??""} ${t.value.text}`)]})}function Ts({stored:t,onSaved:n,onChange:r}){const s=G.value!==void 0,a=!/^type /m.test(t.text),i=a?ks:t.text,o=s?void 0:Ve.peek(),c=F(o?.base??t),[l,d]=m(o?.text??i),[h,p]=m(l),[u,f]=m(!1),[v,b]=m(!1),[k,D]=m(),[q,X]=m(),ee=F(void 0),ot=l!==i,Ce=A(Ss,[]),{open:Pe}=x.value.parameters;L(()=>{Pe&&(b(Pe==="import"&&!s),B({open:void 0}))},[Pe]),L(()=>{const S=setTimeout(()=>p(l),ys);return()=>clearTimeout(S)},[l]);const ie=A(S=>R("v2/model/validate",{text:h,signal:S}),[h]),U=ie.value,ct=h===l&&!ie.isLoading;function lt(S){d(S),X(void 0),r(),s||(Ve.value=S===i?void 0:{text:S,base:c.current})}function _n(S){D(S),ee.current?ee.current.setText(S.text):lt(S.text)}function Dn(){D(void 0),c.current=t,ee.current?.setText(i)}async function Ln(){try{ee.current?.setText(await ia(l))}catch(S){if(!(S instanceof g))throw S;X(S)}}const dt=Ce.value;return e(w,{children:[e("div",{class:"actions",children:[e($,{needs:$t,class:"primary",disabled:!(ot||a)||!ct||!U?.valid,onClick:()=>f(!0),children:"Review and save…"}),!s&&e("button",{type:"button",class:"quiet",disabled:!ct||!U?.valid,onClick:Ln,children:"Format"}),ot&&!s&&e("button",{type:"button",class:"quiet",onClick:Dn,children:"Back to the stored model"}),!s&&e("button",{type:"button",class:"quiet",onClick:()=>b(!0),children:"Import…"}),e("button",{type:"button",class:"quiet",onClick:()=>$e("model.txt","text/plain",l),children:"Download"}),e(Xe,{needs:$t,children:", so it cannot save. Try changes here, and download them."})]}),q&&e(T,{fault:q}),k&&e(Cs,{notes:k.notes}),Ce.fault&&e(T,{fault:Ce.fault}),dt?e(dt,{first:l,settled:h,found:U,isReadOnly:s,start:x.value.parameters.of,onText:lt,onReady:S=>ee.current=S}):!Ce.fault&&e(O,{what:"Loading the editor"}),e("section",{class:"faults card","aria-label":"Validation","aria-live":"polite",children:[ie.fault&&e(T,{fault:ie.fault,retry:ie.reload}),!U&&!ie.fault&&e(O,{what:"Validating"}),U&&e(xs,{found:U}),U&&e(Nt,{title:"Errors",faults:U.errors,onChoose:S=>ee.current?.goTo(S.line,S.column)}),U&&e(Nt,{title:"Warnings",faults:U.warnings,onChoose:S=>ee.current?.goTo(S.line,S.column)})]}),u&&e(vn,{text:l,base:c.current,onSaved:n,onClose:()=>f(!1)}),v&&e(gs,{onImported:_n,onClose:()=>b(!1)})]})}function Cs({notes:t}){return e(Z,{children:[e("p",{children:"The model is in the editor. Review it, and save it."}),t.length>0&&e("ul",{children:t.map(n=>e("li",{children:n},n))})]})}async function Ss(){try{return(await Jn(async()=>{const{Workbench:t}=await import("./workbench.js");return{Workbench:t}},[],import.meta.url)).Workbench}catch{throw new g(0,"unreachable","The editor could not be loaded.")}}function xs({found:t}){return e("p",{class:"sentence-line",children:[e(J,{tone:t.valid?"yes":"no",children:t.valid?"Valid":"Not valid"})," ",t.valid&&t.warnings.length===0&&"The model has no faults."]})}function Nt({title:t,faults:n,onChoose:r}){return n.length===0?null:e(w,{children:[e("h2",{children:t}),e("ul",{class:"fault-list",children:n.map((s,a)=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>r(s),children:["Line ",s.line,", column ",s.column]}),e("span",{children:s.message}),s.suggestion&&!s.message.includes(s.suggestion)&&e("span",{class:"hint",children:["Write ",s.suggestion,"."]}),e("code",{class:"hint",children:s.code})]},a))})]})}function ve(t){return y(t)+(t.subjectRelation?`#${t.subjectRelation}`:"")}const Os="can-";function As(t,n,r){return[...st(t,n)].map(([s,a])=>{const i=new Set(a.map(d=>d.relation)),o=[...r(s),...i].filter(d=>i.has(d)),c=[...new Set(o)],l=Rs(c,a);return{objectType:s,relations:c.filter(d=>l.has(d)),folded:c.filter(d=>!l.has(d)),lines:jn(a)}})}function Rs(t,n){const r=t.filter(s=>s.startsWith(Os));return r.length===0?new Set(t):new Set([...r,...n.filter(s=>!s.isImplicit).map(s=>s.relation)])}function jn(t){return[...st(t,ve)].map(([n,r])=>({name:n,row:r[0],cells:new Map(r.map(s=>[s.relation,s]))}))}function Es(t,n){const r=n.trim().toLowerCase();return r?t.filter(s=>s.name.toLowerCase().includes(r)):t}function Is(t,n){const r=t.flatMap(a=>[...a.cells.values()].filter(i=>n.includes(i.relation))),s=[...st(r,a=>a.warrant?z(a.warrant):"")];return s.sort(([,a],[,i])=>i.length-a.length),s.map(([,a])=>({reason:a[0].warrant,lines:jn(a)}))}function $s(t,n){return t.filter(r=>r.cells.has(n)).length}function st(t,n){const r=new Map;for(const s of t){const a=r.get(n(s));a?a.push(s):r.set(n(s),[s])}return r}function Ns({context:t}){const[n,r]=m(t);return Vt(()=>r(t),[t]),e("details",{open:t!=="",children:[e("summary",{children:"Try a context for policies"}),e("form",{class:"filters",onSubmit:s=>{s.preventDefault(),B({context:n.trim()||void 0,next:void 0,prev:void 0})},children:[e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:n,onInput:s=>r(s.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Try it"})]})]})}function Ms({matrix:t,filter:n,isGrouped:r,...s}){const[a,i]=m(!1),o=a?[...t.relations,...t.folded]:t.relations,c=Es(t.lines,n),l=s.areSubjects?"Who has access":`Access to ${t.objectType}`;return e("section",{class:"matrix",children:[e("div",{class:"heading",children:[!s.areSubjects&&e("h2",{children:t.objectType}),e("p",{class:"hint",children:[c.length===t.lines.length?c.length:`${c.length} of ${t.lines.length}`," ",s.areSubjects?"with access":"that it has access to"]}),t.folded.length>0&&e("button",{type:"button",class:"linklike","aria-expanded":a,onClick:()=>i(!a),children:a?"Fewer relations":`${t.folded.length} more: ${t.folded.join(", ")}`})]}),e("div",{class:"scrolled",tabIndex:0,role:"region","aria-label":l,children:e("table",{children:[e("thead",{children:e("tr",{children:[e("th",{scope:"col",children:s.areSubjects?"Subject":"Object"}),o.map(d=>e("th",{scope:"col",children:[d," ",e("span",{class:"count",children:$s(c,d)})]},d))]})}),r?Is(c,o).map(({reason:d,lines:h})=>e("tbody",{children:[e("tr",{children:e("th",{scope:"rowgroup",colSpan:o.length+1,class:"reason",children:d?e(qe,{warrant:d}):"Nothing excludes it"})}),e(Mt,{lines:h,relations:o,...s})]},d?JSON.stringify(d):"")):e("tbody",{children:e(Mt,{lines:c,relations:o,...s})})]})})]})}function Mt({lines:t,relations:n,...r}){return e(w,{children:t.map(s=>e("tr",{children:[e("th",{scope:"row",children:[e(ae,{object:s.row}),s.row.subjectRelation&&`#${s.row.subjectRelation}`]}),n.map(a=>e("td",{children:e(qs,{row:s.cells.get(a),name:s.name,...r})},a))]},s.name))})}function qs({row:t,name:n,fixed:r,areSubjects:s,context:a}){if(!t)return e("span",{class:"sr",children:"no"});const{policy:i,expiresAt:o}=t.warrant??{},c=e(w,{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t.isImplicit?"ring":"dot"})}),e("span",{class:"sr",children:[t.relation," of ",n,", ",t.isImplicit?"by rules":"by warrant"]}),i&&e("span",{class:"condition",children:" if"}),o&&e("span",{class:"condition",children:[" until ",_(o)]})]});if(t.objectId==="*")return e("span",{class:"cell",children:c});const l=s?{subject:n,object:r}:{subject:r,object:y(t)};return e("a",{class:"cell",title:i&&`if ${i}`,href:C("why",{...l,relation:t.relation,context:a}),children:c})}function _s(){return e("ul",{class:"legend",children:[["dot","ring"].map(t=>e("li",{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t})}),t==="dot"?"by warrant":"by rules"]},t)),e("li",{children:[e("b",{children:"if"})," a policy holds"]})]})}const Ds=1e3;async function Tn(t,n,r,s){let a;try{a=n?JSON.parse(n):void 0}catch{throw new g(400,"invalid",'The context is not JSON: write {"network": "office"}')}return R("v2/query",{body:{q:t,context:a,...r},signal:s})}async function Cn(t,n,r,s,a){const i=[];let o;do{const c=await Tn(t,n,{limit:Ds,nextCursor:o,asOf:s},a);i.push(...c.results),o=c.nextCursor}while(o&&i.length<r);return{rows:i,isCut:o!==void 0}}const Ls=50,qt=1e3,_t="because",be={scope:"write"},Dt={who:"Who has access to it",what:"What it has access to",on:"Warrants on it",to:"Warrants to it"};function Ws(){const{name:t="",tab:n}=x.value.parameters,r=Y(t),[s,a]=m(),[i,o]=m("");if(!r)return e(M,{title:"Which object?",children:e("p",{children:["An object is written ",e("code",{children:"type:id"}),". Find one in the ",e("a",{href:C("data"),children:"data"}),"."]})});const c=ue.value?.find(p=>p.type===r.objectType),l=c!==void 0&&Object.keys(c.relations).length>0,d=r.objectType==="user",h=n&&n in Dt?n:l&&!d?"who":"what";return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:e("span",{class:"name",children:t})}),e("div",{class:"actions",children:[e(Xe,{needs:be}),r.objectId!=="*"&&e(w,{children:[e($,{needs:be,class:"quiet",onClick:()=>a("meta"),children:"Edit meta…"}),e($,{needs:be,class:"quiet",onClick:()=>a("rename"),children:"Rename…"}),e($,{needs:be,class:"quiet",onClick:()=>a("delete"),children:"Delete…"})]}),e($,{needs:be,class:"primary",onClick:()=>a("warrant"),children:[e(he,{name:"plus"}),"New warrant"]})]})]}),e(Ps,{object:r,turn:i}),i&&e(Z,{children:e("p",{children:i})}),e("nav",{class:"tabs","aria-label":"About this object",children:Object.entries(Dt).map(([p,u])=>e("a",{href:C("object",{name:t,tab:p}),"aria-current":p===h?"page":void 0,children:u},p))}),h==="who"||h==="what"?e(Yt,{needs:{scope:"query"},children:e(Fs,{object:r,areSubjects:h==="who",turn:i})}):e(Us,{object:r,isSubject:h==="to",turn:i,onDone:o}),s==="warrant"&&e(rn,{...h==="who"||h==="on"?{object:t}:{subject:t},onDone:o,onClose:()=>a(void 0)}),s==="meta"&&e(Wr,{object:r,onDone:o,onClose:()=>a(void 0)}),s==="rename"&&e(Gr,{object:r,onClose:()=>a(void 0)}),s==="delete"&&e(Pr,{object:r,onDone:o,onClose:()=>a(void 0)})]},t)}function Ps({object:t,turn:n}){const r=De(t),s=N.value?.includes(t.objectType)===!1,a=A(s?void 0:c=>R(r,{query:{asOf:G.value},signal:c}),[r,G.value,n]);if(s)return e("p",{class:"hint",children:["Your key is limited to ",N.value?.join(", "),": only access to such objects is shown."]});if(a.fault?.status===404)return e("p",{class:"hint",children:"It is not stored; warrants may name it all the same."});if(a.fault)return e(T,{fault:a.fault,retry:a.reload});if(!a.value)return e("p",{class:"hint",children:"…"});const{meta:i,createdAt:o}=a.value;return e(w,{children:[e("p",{class:"hint",children:["Created ",_(o)]}),i&&Object.keys(i).length>0&&e("dl",{class:"meta-list",children:Object.entries(i).map(([c,l])=>e("div",{children:[e("dt",{children:c}),e("dd",{children:typeof l=="string"?l:JSON.stringify(l)})]},c))})]})}function Fs({object:t,areSubjects:n,turn:r}){const{context:s=""}=x.value.parameters;return e(w,{children:[e(Ns,{context:s}),e(Bs,{object:t,areSubjects:n,turn:r,context:s})]})}function Gs(t){return Object.keys(ue.value?.find(n=>n.type===t)?.relations??{})}function Bs({object:t,areSubjects:n,turn:r,context:s}){const{at:a,filter:i="",group:o}=x.value.parameters,[c,l]=m(qt),d=y(t),h=N.value?.join(", ")??"*",p=n?`select * of type * for ${Je(t)}`:`select ${h} where ${Je(t)} is *`,u=A(k=>Cn(p,s,c,a,k),[p,s,a,r,c]);if(u.fault?.status===404)return e(M,{title:`The model does not define the type ${t.objectType}, so nobody has access to it.`});if(u.fault)return e(T,{fault:u.fault,retry:u.reload});if(!u.value)return e(O,{what:"Finding access"});const{rows:f,isCut:v}=u.value;return f.length===0?e(M,{title:n?`Nobody has access to ${d}.`:`${d} has access to nothing.`}):e(w,{children:[e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"filter",children:"Contains"}),e("input",{id:"filter",type:"search",value:i,onInput:k=>B({filter:k.currentTarget.value})})]}),e("div",{class:"field",children:[e("label",{for:"group",children:"Group by"}),e("select",{id:"group",value:o??"",onChange:k=>B({group:k.currentTarget.value}),children:[e("option",{value:"",children:"nothing"}),e("option",{value:_t,children:"because of"})]})]}),e(_s,{})]}),As(f,n?()=>t.objectType:k=>k.objectType,Gs).map(k=>e(Ms,{matrix:k,fixed:d,areSubjects:n,context:s,filter:i,isGrouped:o===_t},k.objectType)),v&&e("div",{class:"actions",children:[e("p",{class:"hint",children:["There is more than these ",f.length," relations."]}),e("button",{type:"button",class:"quiet",disabled:u.isLoading,onClick:()=>l(c+qt),children:"Show more"})]})]})}function Us({object:t,isSubject:n,turn:r,onDone:s}){const{next:a,prev:i,at:o}=x.value.parameters,c=n?{subjectType:t.objectType,subjectId:t.objectId}:{objectType:t.objectType,objectId:t.objectId},l=n?{objectType:N.value?.[0]}:{},d=A(h=>{const p={...l,...c,limit:Ls,nextCursor:a,prevCursor:i,asOf:o};return R("v2/warrants",{query:p,signal:h})},[y(t),n,a,i,o,r]);return d.fault?e(T,{fault:d.fault,retry:d.reload}):d.value?d.value.results.length===0?e(M,{title:"There are no such warrants."}):e(w,{children:[e(an,{warrants:d.value.results,onDone:s}),e(pe,{page:d.value})]}):e(O,{what:"Reading warrants"})}function zs({rows:t,fixed:n,areSubjects:r,context:s}){return e(se,{label:"Results",headings:[r?"Subject":"Object","Relation","How","Because"],hasActions:!0,children:t.map(a=>e("tr",{children:[e("td",{children:[e(ae,{object:a}),a.subjectRelation&&`#${a.subjectRelation}`]}),e("td",{children:e("b",{children:a.relation})}),e("td",{children:a.isImplicit?"by rules":"by warrant"}),e("td",{children:a.warrant?e(qe,{warrant:a.warrant}):"nothing excludes it"}),e("td",{class:"row-actions",children:[n&&a.objectId!=="*"&&e("a",{href:C("why",{subject:r?ve(a):n,relation:a.relation,object:r?n:y(a),context:s}),children:["Why",e("span",{class:"sr",children:[" ",ve(a)," ",a.relation]})]}),n&&a.objectId!=="*"&&e(Kn,{subject:r?ve(a):n,relation:a.relation,object:r?n:y(a),context:s})]})]},`${ve(a)}#${a.relation}`))})}const Sn=/,|[^\s,:]+:"[^"]*"?|[^\s,]+/g,Hs=/(?:[^\s,:]+:"[^"]*"?|[^\s,]*)$/,Ye={"":{select:"select"},select:{where:"where",of:"of"},where:{is:"is"},is:{and:"and"},and:{not:"not",is:"is"},not:{is:"is"},of:{type:"of type"},"of type":{for:"for"},for:{}},Js={select:!0,where:!0,is:!0,not:!0,"of type":!0,for:!0};function Ks(t,n){const r=Hs.exec(t)?.[0]??"",s=t.slice(0,t.length-r.length);let a="",i=[],o=[],c=!0;for(const p of s.match(Sn)??[]){const u=c&&a in Js?void 0:Ye[a][p.toLowerCase()];u!==void 0?(a==="select"&&(o=i),a=u,i=[],c=!0):p===","?c=!0:(a!=="select"||p.toLowerCase()!=="explicit")&&(i.push(p),c=!1)}const l={before:s,word:r,keywords:[],isType:!1,isObject:!1,isAll:!1,named:i};if(a===""||a==="of")return{...l,keywords:Object.keys(Ye[a])};if(!c)return{...l,keywords:Vs(a,i,n)};const d=i.length===0,h=i.some(p=>n.includes(p));switch(a){case"select":return{...l,isAll:d,keywords:d&&!/explicit\s+$/i.test(s)?["explicit"]:[],isType:d||h,relationsOf:d||!h?[]:void 0};case"is":return{...l,isAll:d,relationsOf:o.filter(p=>n.includes(p))};case"of type":return{...l,isAll:d,isType:!0};case"and":return{...l,keywords:d?["not"]:[],isObject:d};default:return{...l,isObject:d}}}function Vs(t,n,r){return t==="and"?["is"]:t!=="select"?Object.keys(Ye[t]):n.includes("*")?["where","of type"]:n.every(s=>r.includes(s))?["where"]:["of type"]}function Ys(t){const n=t.match(Sn)??[],r=n.findIndex(i=>/^(where|for)$/i.test(i)),s=r<0?void 0:Y(n[r+1]??"");return{name:s&&`${s.objectType}:${s.objectId}`,areSubjects:n[r]?.toLowerCase()==="for"}}const Qs=async(t,n)=>{const r=Ks(t,Te());return(r.isObject?await Xs(r.word,n):Zs(r)).map(a=>({...a,label:a.value,value:r.before+a.value,isPrefix:!0}))};function Zs(t){const{relationsOf:n}=t,r=n&&(n.length>0?n.flatMap(i=>ht(i)):ht()),a=[...t.isType?Te():[],...(r??[]).toSorted(),...t.isAll?["*"]:[]].filter(i=>!t.named.includes(i));return[...new Set([...t.keywords.map(i=>`${i} `),...a])].filter(i=>i.startsWith(t.word)&&i!==t.word).map(i=>({value:i}))}async function Xs(t,n){return(await de(t.replaceAll('"',""),n)).map(s=>{const a=Y(s.value);return a?{...s,value:Je(a)}:s})}const ei=50,ti=1e4;function ni(){const{q:t="",context:n="",next:r,prev:s,at:a}=x.value.parameters,[i,o]=m({q:t,context:n});Vt(()=>o({q:t,context:n}),[t,n]);const c=A(t?d=>Tn(t,n,{limit:ei,nextCursor:r,prevCursor:s,asOf:a},d):void 0,[t,n,r,s,a]),l=()=>j("queries",{q:i.q.trim(),context:i.context.trim()});return e("div",{class:"wide",children:[e("h1",{children:"Queries"}),e("form",{class:"card query",onSubmit:d=>{d.preventDefault(),l()},children:[e(P,{label:"Query",placeholder:"select document where user:ann is viewer",value:i.q,complete:Qs,onInput:d=>o(h=>({...h,q:d})),isRequired:!0,hint:e(w,{children:[e("code",{children:"select TYPES where TYPE:ID is RELATIONS"})," finds objects,"," ",e("code",{children:"select RELATIONS of type TYPES for TYPE:ID"})," finds subjects."]})}),e("details",{open:i.context!=="",children:[e("summary",{children:"Context for policies"}),e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:i.context,onInput:d=>o({...i,context:d.currentTarget.value})})]})]}),e("div",{class:"actions",children:e("button",{type:"submit",class:"primary",children:"Run"})})]}),!t&&e(ai,{}),c.fault&&e(T,{fault:c.fault,retry:c.reload}),t&&!c.value&&!c.fault&&e(O,{what:"Searching"}),c.value?.results.length===0&&e(M,{title:"Nothing has that.",children:e("p",{children:"A row is here exactly when a check of it is allowed."})}),c.value&&c.value.results.length>0&&e(ri,{page:c.value,q:t,context:n,at:a})]})}function ri({page:t,q:n,context:r,at:s}){const[a,i]=m(),[o,c]=m(""),{name:l,areSubjects:d}=Ys(n);async function h(p){i(void 0),c("Reading all rows…");try{const{rows:u,isCut:f}=await Cn(n,r,ti,s),v=p==="csv"?vs(u):`${JSON.stringify(u,null,2)}
`;$e(`query.${p}`,p==="csv"?"text/csv":"application/json",v),c(f?`Saved the first ${u.length} rows: an export has no more.`:`Saved ${u.length} rows.`)}catch(u){if(!(u instanceof g))throw u;c(""),i(u)}}return e(w,{children:[e("div",{class:"heading",children:[e("h2",{children:"Results"}),e("div",{class:"actions",children:[e("span",{class:"hint",role:"status",children:o}),e("button",{type:"button",class:"quiet",onClick:()=>h("csv"),children:"Export CSV"}),e("button",{type:"button",class:"quiet",onClick:()=>h("json"),children:"Export JSON"})]})]}),a&&e(T,{fault:a}),e(zs,{rows:t.results,fixed:l,areSubjects:d,context:r}),e(pe,{page:t}),e(Vn,{forms:{curl:()=>Qn(ut(),"v2/query",{q:n,context:r?JSON.parse(r):void 0,asOf:s}),"a command":()=>{const p=r?JSON.parse(r):void 0;return Yn(ut(),n,p,s)}}})]})}function ai(){const t=ue.value?.filter(s=>Object.keys(s.relations).length>1).at(-1),n=t?Object.keys(t.relations)[0]:void 0;if(!t||!n)return e(M,{title:"There is nothing to query yet: the model has no relations.",children:[e("p",{children:["Write relations into the ",e("a",{href:C("model"),children:"model"}),", or start with an example: documents in folders, shared with people and groups."]}),e(zt,{})]});const r=[[`select ${t.type} where user:ann is *`,`which objects of type ${t.type} ann has any relation on`],["select * where user:ann is *","everything that ann has access to"],[`select explicit ${t.type} where user:ann is ${n}`,"only what warrants give, without rules"]];return e(M,{title:"List objects, or subjects.",children:e("ul",{class:"starts",children:r.map(([s="",a])=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>j("queries",{q:s}),children:e("code",{children:s})}),e("span",{class:"hint",children:a})]},s))})})}function it({what:t,text:n,onClose:r}){const[s,a]=m(!1),i=()=>navigator.clipboard.writeText(n).then(()=>a(!0),()=>a(!1));return e("div",{class:"notice",role:"status",children:[e("p",{children:[e("b",{children:t}),", shown only this once:"]}),e("p",{children:e("code",{class:"secret",children:n})}),e("div",{class:"actions",children:[navigator.clipboard!==void 0&&e("button",{type:"button",class:"quiet",onClick:()=>{i()},children:s?"Copied":"Copy"}),e("button",{type:"button",class:"quiet",onClick:r,children:"I have stored it"})]})]})}const si=50,ii={check:"check access, and create sessions",query:"find objects and subjects",read:"read the model and the data, explain, compare",write:"create and delete warrants and objects",model:"change the model",events:"read the history",metrics:"read metrics",keys:"manage keys",webhooks:"manage webhooks, which get all changes",stores:"manage stores, and use all of them",admin:"all of these"};function xn(){const{next:t,prev:n}=x.value.parameters,[r,s]=m(0),[a,i]=m(),[o,c]=m(),[l,d]=m(""),h=A(f=>R("v2/keys",{query:{limit:si,nextCursor:t,prevCursor:n},signal:f}),[t,n,r]),p=()=>i(void 0);function u(f,v){c(v),d(f),s(b=>b+1)}return h.fault?e(T,{fault:h.fault,retry:h.reload}):h.value?e(w,{children:[e("div",{class:"actions",children:e("button",{type:"button",class:"primary",onClick:()=>i("create"),children:[e(he,{name:"plus"}),"New key"]})}),o&&e(it,{what:`The key ${o.name}`,text:o.key,onClose:()=>c(void 0)}),l&&!o&&e(Z,{children:e("p",{children:l})}),h.value.results.length===0?e(M,{title:"There are no stored keys.",children:e("p",{children:"Callers share the key that was configured or generated, which may do everything. Give each its own, with the scopes that it needs: its name is beside its changes in the history, and it can be revoked alone."})}):e(oi,{keys:h.value.results,onOpen:i}),e(pe,{page:h.value}),a==="create"&&e(ci,{onDone:u,onClose:p}),typeof a=="object"&&"revoke"in a&&e(li,{of:a.revoke,onDone:u,onClose:p}),typeof a=="object"&&"rotate"in a&&e(di,{of:a.rotate,onDone:u,onClose:p})]}):e(O,{what:"Reading keys"})}function oi({keys:t,onOpen:n}){return e(se,{label:"Keys",headings:["Name","Begins with","Scopes","Object types","Created","Last used","Expires"],hasActions:!0,children:t.map(r=>e("tr",{children:[e("td",{class:"name",children:r.name}),e("td",{children:e("code",{children:[r.prefix,"…"]})}),e("td",{children:r.scopes.join(", ")}),e("td",{children:r.objectTypes?.join(", ")??"all"}),e("td",{class:"time",children:[_(r.createdAt)," by ",r.createdBy]}),e("td",{class:"time",children:r.lastUsedAt?_(r.lastUsedAt):"never"}),e("td",{class:"time",children:r.expiresAt?_(r.expiresAt):"never"}),e("td",{class:"row-actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>n({rotate:r}),children:["Rotate…",e("span",{class:"sr",children:[" ",r.name]})]}),e("button",{type:"button",class:"quiet",onClick:()=>n({revoke:r}),children:["Revoke…",e("span",{class:"sr",children:[" ",r.name]})]})]})]},r.id))})}function ci({onDone:t,onClose:n}){const[r,s]=m(""),[a,i]=m(["check"]),[o,c]=m([]),[l,d]=m("");async function h(){if(a.length===0)throw new g(400,"invalid","A key needs at least one scope");const p={name:r.trim(),scopes:a,...o.length>0?{objectTypes:o}:{},...l?{expiresAt:new Date(l).toISOString()}:{}},u=await E("v2/keys",{body:p});t(`Created the key ${u.name}.`,u)}return e(I,{title:"New key",action:"Create",onConfirm:h,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"key-name",children:"Name"}),e("input",{id:"key-name",type:"text",required:!0,maxLength:64,value:r,onInput:p=>s(p.currentTarget.value)}),e("span",{class:"hint",children:"It stands beside the changes of the key in the history."})]}),e(Lt,{legend:"Scopes",choices:Object.entries(ii),chosen:a,onChange:i}),e("details",{children:[e("summary",{children:"Limits"}),e(Lt,{legend:"Object types (none chosen: all)",choices:Te().map(p=>[p,""]),chosen:o,onChange:c}),e("div",{class:"field",children:[e("label",{for:"key-expires",children:"Expires at"}),e("input",{id:"key-expires",type:"datetime-local",value:l,onInput:p=>d(p.currentTarget.value)})]})]})]})}function Lt({legend:t,choices:n,chosen:r,onChange:s}){return e("fieldset",{class:"choices",children:[e("legend",{children:t}),n.map(([a,i])=>e("label",{children:[e("input",{type:"checkbox",checked:r.includes(a),onChange:o=>s(o.currentTarget.checked?[...r,a]:r.filter(c=>c!==a))}),e("span",{children:[e("b",{children:a})," ",i&&e("span",{class:"hint",children:i})]})]},a))]})}function li({of:t,onDone:n,onClose:r}){async function s(){await E("v2/keys/"+encodeURIComponent(t.id),{method:"DELETE"}),n(`Revoked the key ${t.name}.`)}return e(I,{title:`Revoke ${t.name}?`,action:"Revoke",isDangerous:!0,onConfirm:s,onClose:r,children:e("p",{children:["Whoever uses ",e("code",{children:[t.prefix,"…"]})," is refused within a second. This cannot be undone. It was last used:"," ",t.lastUsedAt?_(t.lastUsedAt):"never","."]})})}function di({of:t,onDone:n,onClose:r}){const[s,a]=m("3600");async function i(){const o={graceSeconds:Number(s)},c=await E(`v2/keys/${encodeURIComponent(t.id)}/rotate`,{body:o});n(`Rotated the key ${t.name}.`,c)}return e(I,{title:`Replace the secret of ${t.name}?`,action:"Rotate",onConfirm:i,onClose:r,children:e("div",{class:"field",children:[e("label",{for:"grace",children:"The old one stays valid for"}),e("select",{id:"grace",value:s,onChange:o=>a(o.currentTarget.value),children:[e("option",{value:"0",children:"no time: it is refused at once"}),e("option",{value:"3600",children:"an hour"}),e("option",{value:"86400",children:"a day"})]})]})})}const hi=/^(\w+)(?:\{(.*)\})? (\S+)$/,ui=/(\w+)="((?:[^"\\]|\\.)*)"/g;function pi(t,n){const r=[];for(const s of t.split(`
`)){const a=hi.exec(s);if(!a)continue;const i=Object.fromEntries([...(a[2]??"").matchAll(ui)].map(o=>[o[1]??"",o[2]??""]));r.push({name:a[1]??"",labels:i,value:Number(a[3])})}return{at:n,samples:r}}function mi(t,n){const r=t&&Math.max(n.at-t.at,.001),s=t?bi(t,n):n.samples,a=(p,u)=>r&&H(p,u)/r,i=H(s,"magistrate_graph_hits_total"),o=i+H(s,"magistrate_graph_misses_total")+H(s,"magistrate_graph_given_up_total"),c=s.filter(p=>p.name===te&&/^5/.test(p.labels.status??"")),l=Wt(s),h=[...Wt(n.samples.filter(p=>p.name===te))].map(([p,u])=>{const f=l.get(p)??[];return{route:p,total:H(u,te),perSecond:a(f,te),...Pt(f)}});return{total:H(n.samples,te),perSecond:a(s,te),...Pt(s),cacheHits:o>0?i/o:void 0,statementsPerSecond:a(s,"magistrate_statements_total"),errorsPerSecond:a(c,te),refusedPerSecond:a(s,"magistrate_requests_shed_total"),cachedEntries:H(n.samples,"magistrate_graph_entries"),running:H(n.samples,"magistrate_requests_running"),waiting:H(n.samples,"magistrate_requests_waiting"),routes:h.sort((p,u)=>u.total-p.total||(p.route<u.route?-1:1))}}const te="magistrate_requests_total";function Wt(t){const n=new Map;for(const r of t){const s=fi(r),a=n.get(s);a?a.push(r):n.set(s,[r])}return n}function fi(t){return`${t.labels.method??""} ${t.labels.route||"other paths"}`}function H(t,n){return t.reduce((r,s)=>s.name===n?r+s.value:r,0)}function bi(t,n){const r=a=>a.name+JSON.stringify(a.labels),s=new Map(t.samples.map(a=>[r(a),a.value]));return n.samples.map(a=>({...a,value:Math.max(a.value-(s.get(r(a))??0),0)}))}function Pt(t){const n=new Map;for(const i of t){if(i.name!=="magistrate_request_seconds_bucket")continue;const o=i.labels.le==="+Inf"?1/0:Number(i.labels.le);n.set(o,(n.get(o)??0)+i.value)}const r=[...n].sort(([i],[o])=>i-o),s=r.at(-1)?.[1]??0;if(s===0)return{};const a=i=>(r.find(([,o])=>o>=s*i)?.[0]??1/0)*1e3;return{p50Ms:a(.5),p99Ms:a(.99)}}const vi=2e3,On=60,wi=50;function gi(){const[t,n]=m([]),[r,s]=m(),[a,i]=m(!1);if(L(()=>{if(a||r)return;const c=new AbortController;let l,d;const h=()=>{ji(c.signal).then(p=>{if(c.signal.aborted)return;const u=mi(l,p);n(f=>[...f.filter(Ft),u].slice(-On)),l=p,d=setTimeout(h,vi)},p=>{if(!c.signal.aborted){if(!(p instanceof g))throw p;s(p)}})};return h(),()=>{c.abort(),clearTimeout(d)}},[a,r]),r)return e(T,{fault:r,retry:()=>s(void 0)});const o=t.at(-1);return o?e(w,{children:[e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet","aria-pressed":a,onClick:()=>i(!a),children:a?"Continue":"Pause"}),e("span",{class:"hint",role:"status",children:Ft(o)?"Every two seconds, for all workers. The requests of this page count, too.":"Since the service was started, for all workers. What happens now follows in two seconds."})]}),e("dl",{class:"figures",children:[e(V,{title:"Requests a second",value:we(o.perSecond),points:t.map(c=>c.perSecond??0),children:[o.total.toLocaleString()," in all"]}),e(V,{title:"p50",value:Ne(o.p50Ms),points:t.map(c=>c.p50Ms??0)}),e(V,{title:"p99",value:Ne(o.p99Ms),points:t.map(c=>c.p99Ms??0)}),e(V,{title:"Checks from the cache alone",value:o.cacheHits===void 0?"no checks":`${Math.round(o.cacheHits*100)} %`,points:t.map(c=>c.cacheHits??0)}),e(V,{title:"Entries in the cache",value:o.cachedEntries.toLocaleString()}),e(V,{title:"Statements a second",value:we(o.statementsPerSecond)}),e(V,{title:"Errors (5xx) a second",value:we(o.errorsPerSecond)}),e(V,{title:"Requests refused a second",value:we(o.refusedPerSecond),children:[o.running," running, ",o.waiting," waiting"]})]}),e(ki,{now:o})]}):e(O,{what:"Reading metrics"})}function Ft(t){return t.perSecond!==void 0}function V({title:t,value:n,points:r,children:s}){return e("div",{class:"card figure",children:[e("dt",{children:t}),e("dd",{children:n}),s&&e("dd",{class:"hint",children:s}),r&&e(yi,{points:r})]})}function yi({points:t}){const n=t.map(o=>Number.isFinite(o)?o:0),r=Math.max(...n,1e-9),s=120/(On-1),a=120-(n.length-1)*s,i=n.map((o,c)=>`${(a+c*s).toFixed(1)},${(27-25*o/r).toFixed(1)}`);return e("svg",{class:"line",viewBox:"0 0 120 28",preserveAspectRatio:"none","aria-hidden":"true",children:e("polyline",{points:i.join(" ")})})}function ki({now:t}){return e(se,{label:"Routes",headings:["Route","Requests","A second","p50","p99"],children:t.routes.slice(0,wi).map(n=>e("tr",{children:[e("td",{class:"name",children:n.route}),e("td",{children:n.total.toLocaleString()}),e("td",{children:we(n.perSecond)}),e("td",{children:Ne(n.p50Ms)}),e("td",{children:Ne(n.p99Ms)})]},n.route))})}async function ji(t){const n=await(await K("metrics",{accept:"text/plain",signal:t})).text();return pi(n,performance.now()/1e3)}function we(t){return t===void 0?"–":t>=100?String(Math.round(t)):t.toFixed(1)}function Ne(t){return t===void 0?"–":Number.isFinite(t)?`${Number(t.toPrecision(3))} ms`:"more than 10 s"}const Ti={900:"15 minutes",3600:"an hour",86400:"a day"};function Ci(){const[t,n]=m(""),[r,s]=m("3600"),[a,i]=m(),[o,c]=m();async function l(d){d.preventDefault(),c(void 0);try{const h={type:"sess",userId:t.trim(),ttl:Number(r)},{token:p}=await E("v2/sessions",{body:h});i({user:t.trim(),token:p})}catch(h){if(!(h instanceof g))throw h;c(h)}}return e(w,{children:[a&&e(it,{what:`A session of user:${a.user}`,text:a.token,onClose:()=>i(void 0)}),o&&e(T,{fault:o}),e("form",{class:"card",onSubmit:l,children:[e("h2",{children:"New session"}),e("p",{children:["A session is a token with which a user checks their own access, from a browser or an app: it is sent as"," ",e("code",{children:"Authorization: Bearer"}),". The service does not list sessions; ",e("code",{children:"magistrate sessions revoke"})," ends all of them."]}),e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"session-user",children:"User"}),e("input",{id:"session-user",type:"text",required:!0,placeholder:"kim",value:t,onInput:d=>n(d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"session-length",children:"Valid for"}),e("select",{id:"session-length",value:r,onChange:d=>s(d.currentTarget.value),children:Object.entries(Ti).map(([d,h])=>e("option",{value:d,children:h},d))})]}),e("button",{type:"submit",class:"primary",children:"Create"})]})]})]})}const Si=[{name:"url",label:"URL",placeholder:"https://receiver.example/changes"},{name:"description",label:"Description"}],xi=[{name:"objectType",label:"Object types",placeholder:"document, folder",hint:"Separate names by commas; none: all."},{name:"relation",label:"Relations",placeholder:"viewer"},{name:"subjectType",label:"Types of subjects",placeholder:"user"}],Oi=[{name:"of",label:"Access",placeholder:"document#viewer@user",hint:"Separate patterns by commas."}];function An({fields:t,isOfAccess:n,onChange:r}){return e(w,{children:[...Si,...n?Oi:xi].map(({name:s,label:a,placeholder:i,hint:o})=>e("div",{class:"field",children:[e("label",{for:`webhook-${s}`,children:a}),e("input",{id:`webhook-${s}`,type:"text",inputMode:s==="url"?"url":void 0,spellcheck:!1,required:s==="url"||s==="of",maxLength:s==="description"?1e3:void 0,placeholder:i,"aria-describedby":o&&`webhook-${s}-hint`,value:t[s],onInput:c=>r({...t,[s]:c.currentTarget.value})}),o&&e("span",{class:"hint",id:`webhook-${s}-hint`,children:o})]},s))})}const Ai={enabled:["yes","Enabled"],disabled:["unknown","Disabled"],gone:["no","Gone"],dead:["no","Dead"]};function Rn({webhook:t}){const{state:n,reason:r,attempts:s,nextAttemptAt:a}=t,[i,o]=n==="enabled"&&s?["unknown","Retrying"]:Ai[n];return e(w,{children:[e(J,{tone:i,children:o}),s!==void 0&&n==="enabled"&&e("div",{class:"hint",children:[s===1?"An attempt":`${s} attempts`," failed",a&&`; the next one is at ${_(a)}`]}),r&&e("div",{class:"hint",children:r})]})}const En=[["of","access"],["objectType","type"],["relation","relation"],["subjectType","type of subject"]];function Q(t,n=""){return`v2/webhooks/${encodeURIComponent(t)}${n&&`/${n}`}`}function In(t){return En.flatMap(([r,s])=>{const a=t[r];return a?[`${s} ${a.join(" or ")}`]:[]}).join(", ")||"all changes"}function Qe(t){const n=r=>r?.join(", ")??"";return{url:t?.url??"",description:t?.description??"",of:n(t?.of),objectType:n(t?.objectType),relation:n(t?.relation),subjectType:n(t?.subjectType)}}function $n(t){const n={url:t.url.trim(),description:t.description.trim()||null};for(const[r]of En)n[r]=Ri(t[r]);return n}function Ri(t){const n=t.split(/[\s,]+/).filter(Boolean);return n.length>0?n:null}const ne={scope:"webhooks"},Ei=25;function Ii({id:t,onIssue:n}){const[r,s]=m(),[a,i]=m(),[o,c]=m(),[l,d]=m(!1),h=A(D=>$i(t,D),[t]);async function p(D){d(!0),c(void 0),i(void 0);try{i(await D())}catch(q){if(!(q instanceof g))throw q;c(q)}d(!1),h.reload()}function u(D){c(void 0),i(D),h.reload()}if(h.fault)return e(T,{fault:h.fault,retry:h.reload});if(!h.value)return e(O,{what:"Reading the webhook"});const{webhook:f,deliveries:v}=h.value,b={webhook:f,onDone:u,onClose:()=>s(void 0)},k=f.enabled;return e(w,{children:[e(qi,{webhook:f}),e("div",{class:"actions",children:[e($,{needs:ne,class:"quiet",disabled:l,onClick:()=>p(()=>Ni(t)),children:"Send a test"}),e($,{needs:ne,class:"quiet",disabled:l,onClick:()=>p(()=>Mi(t,!k)),children:k?"Disable":"Enable"}),e($,{needs:ne,class:"quiet",onClick:()=>s("edit"),children:"Edit…"}),e($,{needs:ne,class:"quiet",onClick:()=>s("rotate"),children:"Rotate the secret…"}),e($,{needs:ne,class:"quiet",onClick:()=>s({since:""}),children:"Replay…"}),e($,{needs:ne,class:"quiet",onClick:()=>s("delete"),children:"Delete…"})]}),o&&e(T,{fault:o}),a&&e(Z,{children:e("p",{children:a})}),e(_i,{deliveries:v,isLoading:h.isLoading,onReload:h.reload,onReplay:s}),r==="edit"&&e(Di,{...b}),r==="rotate"&&e(Li,{...b,onIssue:n}),r==="delete"&&e(Wi,{...b}),typeof r=="object"&&e(Pi,{...b,since:r.since})]})}async function $i(t,n){const[r,s]=await Promise.all([R(Q(t),{signal:n}),R(Q(t,"deliveries"),{signal:n})]);return{webhook:r,deliveries:s.results}}async function Ni(t){return e(Nn,{delivery:await E(Q(t,"test"),{method:"POST"})})}async function Mi(t,n){return await E(Q(t),{method:"PATCH",body:{enabled:n}}),n?"Enabled. It goes on with the first change that it has not got.":"Disabled. What changes meanwhile is sent when it is enabled again."}function qi({webhook:t}){return e("section",{class:"card","aria-label":"Webhook",children:[e("h2",{class:"name",children:t.url}),t.description&&e("p",{children:t.description}),e("dl",{class:"meta-list",children:[e(oe,{name:"State",children:e(Rn,{webhook:t})}),e(oe,{name:"Gets",children:In(t)}),e(oe,{name:"Created",children:[_(t.createdAt)," by ",t.createdBy]}),e(oe,{name:"Has everything up to",children:e("a",{href:C("data",{at:t.token}),children:"this write"})}),t.previousUntil&&e(oe,{name:"The secret before signs, too, until",children:_(t.previousUntil)}),t.skipped&&e(oe,{name:"Skipped, because they were not kept",children:["changes until ",_(t.skipped.time),", after ",e("a",{href:C("data",{at:t.skipped.after}),children:"this write"})]})]}),e("p",{children:e("a",{href:C("service",{show:"webhooks"}),children:"All webhooks"})})]})}function oe({name:t,children:n}){return e("div",{children:[e("dt",{children:t}),e("dd",{children:n})]})}function _i({deliveries:t,isLoading:n,onReload:r,onReplay:s}){return e(w,{children:[e("div",{class:"heading",children:[e("h2",{children:"Deliveries"}),e("button",{type:"button",class:"quiet","aria-disabled":n,onClick:r,children:"Read again"})]}),t.length===0?e(M,{title:"Nothing was sent yet.",children:e("p",{children:"The last 100 attempts are listed here. Send a test to see whether the receiver answers."})}):e(se,{label:"Deliveries",headings:["Time","Result","Took","Attempt","Message"],hasActions:!0,children:t.map(a=>e("tr",{children:[e("td",{class:"time",children:re(a.time)}),e("td",{children:e(Nn,{delivery:a})}),e("td",{class:"time",children:[Math.round(a.duration)," ms"]}),e("td",{children:a.attempt}),e("td",{children:e("code",{children:a.id})}),e("td",{class:"row-actions",children:e($,{needs:ne,class:"quiet",onClick:()=>s({since:a.tokens[0]??""}),children:["Replay after this…",e("span",{class:"sr",children:[" ",a.id]})]})})]},a.time+a.id))})]})}function Nn({delivery:{status:t,error:n}}){return e(w,{children:[e(J,{tone:n?"no":"yes",children:n?"Failed":"Delivered"})," ",n??(t!==void 0&&`The receiver answered ${t}.`)]})}function Di({webhook:t,onDone:n,onClose:r}){const[s,a]=m(Qe(t));async function i(){await E(Q(t.id),{method:"PATCH",body:$n(s)}),n("Saved.")}return e(I,{title:"Edit the webhook",action:"Save",onConfirm:i,onClose:r,children:e(An,{fields:s,isOfAccess:t.of!==void 0,onChange:a})})}function Li({webhook:t,onDone:n,onClose:r,onIssue:s}){async function a(){s(await E(Q(t.id,"rotate"),{body:{}})),n("Rotated the secret.")}return e(I,{title:"Replace the secret?",action:"Rotate",onConfirm:a,onClose:r,children:e("p",{children:"For 24 hours, messages are signed with both secrets, so that the receiver can change over."})})}function Wi({webhook:t,onClose:n}){async function r(){await E(Q(t.id),{method:"DELETE"}),j("service",{show:"webhooks"})}return e(I,{title:"Delete the webhook?",action:"Delete",isDangerous:!0,onConfirm:r,onClose:n,children:e("p",{children:["Nothing is sent to ",e("span",{class:"name",children:t.url})," any more. This cannot be undone."]})})}function Pi({webhook:t,since:n,onDone:r,onClose:s}){const[a,i]=m(n),o=Zn(Fi,[]);async function c(){await E(Q(t.id,"replay"),{body:{since:a.trim()}}),r("Everything after that write is sent again.")}return e(I,{title:"Send changes again",action:"Replay",onConfirm:c,onClose:s,children:e(P,{label:"After the write",value:a,placeholder:"token of a write",complete:o,onInput:i,isRequired:!0,hint:"Everything that was written after it is sent again, in order. Choose the first change to send, or give a token."})})}function Fi(){let t;return async n=>je({scope:"events"})?[]:(t??=Gi(),(await t).filter(({value:r,label:s})=>`${r} ${s}`.includes(n)))}async function Gi(){const{revisions:t}=await Kt(void 0).readMore(Ei,new AbortController().signal);return t.flatMap(n=>n.before===void 0?[]:[{value:n.before,label:Xn(n),hint:re(n.createdAt)}])}const Bi=50;function Ui(){const{id:t}=x.value.parameters,[n,r]=m(),s=n!==void 0&&n.id===t;return e(w,{children:[s&&e(it,{what:"The secret that signs",text:n.secret,onClose:()=>r(void 0)}),t===void 0?e(zi,{onIssue:r}):e(Ii,{id:t,onIssue:r},t)]})}function zi({onIssue:t}){const{next:n,prev:r}=x.value.parameters,[s,a]=m(!1),i=A(o=>R("v2/webhooks",{query:{limit:Bi,nextCursor:n,prevCursor:r},signal:o}),[n,r]);return i.fault?e(T,{fault:i.fault,retry:i.reload}):i.value?e(w,{children:[e("div",{class:"actions",children:e($,{needs:{scope:"webhooks"},class:"primary",onClick:()=>a(!0),children:[e(he,{name:"plus"}),"New webhook"]})}),i.value.results.length===0?e(M,{title:"There are no webhooks.",children:e("p",{children:"A webhook is a URL to which changes are sent as they are made, signed and in order: for caches, search indexes and audit systems that have to react."})}):e(Hi,{webhooks:i.value.results}),e(pe,{page:i.value}),s&&e(Ji,{onIssue:t,onClose:()=>a(!1)})]}):e(O,{what:"Reading webhooks"})}function Hi({webhooks:t}){return e(se,{label:"Webhooks",headings:["URL","Gets","State","Created"],children:t.map(n=>e("tr",{children:[e("td",{children:[e("a",{class:"name",href:C("service",{show:"webhooks",id:n.id}),children:n.url}),n.description&&e("div",{class:"hint",children:n.description})]}),e("td",{children:In(n)}),e("td",{children:e(Rn,{webhook:n})}),e("td",{class:"time",children:[_(n.createdAt)," by ",n.createdBy]})]},n.id))})}function Ji({onIssue:t,onClose:n}){const[r,s]=m(Qe()),[a,i]=m(""),[o,c]=m(!1);function l(h){c(h),s({...Qe(),url:r.url,description:r.description})}async function d(){const h={...$n(r),secret:a.trim()||void 0},p=await E("v2/webhooks",{body:h});t(p),j("service",{show:"webhooks",id:p.id})}return e(I,{title:"New webhook",action:"Create",onConfirm:d,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"webhook-gets",children:"Gets"}),e("select",{id:"webhook-gets",value:String(o),onChange:h=>l(h.currentTarget.value==="true"),children:[e("option",{value:"false",children:"what is written"}),e("option",{value:"true",children:"access that is gained and lost"})]})]}),e(An,{fields:r,isOfAccess:o,onChange:s}),e("details",{children:[e("summary",{children:"Secret"}),e("div",{class:"field",children:[e("label",{for:"webhook-secret",children:"A secret that signs"}),e("input",{id:"webhook-secret",type:"password",autocomplete:"off",spellcheck:!1,placeholder:"whsec_…",value:a,onInput:h=>i(h.currentTarget.value)}),e("span",{class:"hint",children:"Leave it empty to have one generated, which is shown once."})]})]})]})}const He={keys:{title:"Keys",body:xn,needs:{scope:"keys",ofAllTypes:!0}},sessions:{title:"Sessions",body:Ci,needs:{scope:"check",ofAllTypes:!0}},webhooks:{title:"Webhooks",body:Ui,needs:{scope:"webhooks",ofAllTypes:!0}},metrics:{title:"Metrics",body:gi,needs:{scope:"metrics"}}};function Ki(){const{show:t="keys"}=x.value.parameters,n=t in He?t:"keys",{body:r=xn,needs:s}=He[n]??{};return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Service"}),e("nav",{class:"tabs","aria-label":"Parts of the service",children:Object.entries(He).map(([a,{title:i}])=>e("a",{href:C("service",{show:a}),"aria-current":a===n?"page":void 0,children:i},a))})]}),e(Yt,{needs:s,children:e(r,{})},n)]})}const Vi=300,Yi=4194304;function Qi(){const t=ge.value;return e("div",{class:"wide",children:[e("div",{class:"heading",children:[e("h1",{children:"Tests"}),e(Zi,{text:t})]}),t?e(Xi,{text:t}):e(ro,{})]})}function Zi({text:t}){const[n,r]=m(),[s,a]=m(""),[i,o]=m(!1),c=F(null);async function l(u){r(void 0),a("");try{a(await u())}catch(f){if(!(f instanceof g))throw f;r(f)}}async function d(){return $e("model.test.yaml","application/yaml",await ir(t)),"Saved. The command magistrate model test runs this file."}async function h(){const u=await or(t);$e("playground.test.yaml","application/yaml",u.text);const f=u.isCut?`; a file has ${cr} at most, so the others are missing`:"";return`Saved with ${u.warrants} warrants${f}. The command magistrate playground opens this file.`}async function p(u){if(!u)return"";if(u.size>Yi)throw new g(400,"invalid","The file is larger than 4 MiB");return ge.value=await u.text(),`Opened ${u.name}.`}return e(w,{children:[e("div",{class:"actions",children:[e("input",{ref:c,type:"file",class:"sr",tabIndex:-1,"aria-label":"Test file",accept:".yaml,.yml,.json",onChange:u=>{const f=u.currentTarget;l(()=>p(f.files?.[0])).then(()=>f.value="")}}),e("button",{type:"button",class:"quiet",onClick:()=>c.current?.click(),children:"Open a file…"}),t&&e(w,{children:[e("button",{type:"button",class:"quiet",onClick:()=>l(d),children:"Download"}),e("button",{type:"button",class:"quiet",onClick:()=>o(!0),children:"Clear…"})]}),e("button",{type:"button",class:"quiet",onClick:()=>l(h),children:"Download with all warrants"})]}),e("p",{class:"hint",role:"status",children:s}),n&&e(T,{fault:n}),i&&e(I,{title:"Remove all tests?",action:"Remove",isDangerous:!0,onConfirm:()=>(ge.value="",Promise.resolve()),onClose:()=>o(!1),children:e("p",{children:"They are in this tab alone. Download them first if you need them again."})})]})}function Xi({text:t}){const[n,r]=m(t);L(()=>{const a=setTimeout(()=>r(t),Vi);return()=>clearTimeout(a)},[t]);const s=A(a=>R("v2/model/test",{text:n,signal:a}),[n]);return e("div",{class:"tests",children:[e("div",{class:"field",children:[e("label",{for:"tests",children:"Test file"}),e("textarea",{id:"tests",class:"code",rows:24,wrap:"off",spellcheck:!1,value:t,onInput:a=>ge.value=a.currentTarget.value}),e("span",{class:"hint",children:["Without ",e("code",{children:"model"}),", the model of the service is tested. Stored warrants do not count, only those under"," ",e("code",{children:"setup"}),". The file is kept in this tab until you close it or sign out."]})]}),e("section",{class:"card results","aria-label":"Results","aria-live":"polite","aria-busy":s.isLoading,children:[s.fault&&e(T,{fault:s.fault,retry:s.reload}),!s.value&&!s.fault&&e(O,{what:"Running the tests"}),s.value&&e(eo,{run:s.value})]})]})}function eo({run:t}){if(t.results.length===0)return e("p",{children:"There are no tests in the file yet."});const n=t.results.filter(s=>!s.passed),r=t.results.filter(s=>s.passed);return e(w,{children:[e("p",{class:"sentence-line",children:[e(J,{tone:t.failed?"no":"yes",children:t.failed?"Failed":"Passed"})," ",e("b",{children:[t.passed," passed, ",t.failed," failed"]})]}),e("ul",{class:"test-list",children:[...n,...r].map((s,a)=>e(to,{result:s},a))})]})}function to({result:t}){const{name:n,passed:r,failure:s,explanation:a}=t;return e("li",{children:[e(J,{tone:r?"yes":"no",children:r?"Passed":"Failed"})," ",e("span",{class:"name",children:n}),s&&e("p",{class:"failure",children:s}),a&&e(no,{explanation:a})]})}function no({explanation:t}){const n=t.decision==="allowed",r=t.wouldAllow?.[0],s=Me(t.check);return e("details",{children:[e("summary",{children:["Why it is ",t.decision]}),n&&e(er,{links:tr(t.path??[]),label:"What allows it"}),!n&&nr(t).map((a,i)=>e("p",{children:a.sentence},i)),r&&e(w,{children:[e("p",{class:"hint",children:"This would allow it:"}),e("ul",{class:"changes",children:rr(r).map(a=>e("li",{children:[e("span",{class:`verb ${a.verb}`,children:a.verb})," ",e("code",{children:a.what})]},a.verb+a.what))}),e("p",{class:"hint effects",children:ar(r)})]}),e("details",{children:[e("summary",{children:"Every step"}),e(sr,{root:t.because})]}),s&&e("p",{children:e("a",{href:C("why",{subject:_e(s.subject),relation:s.relation,object:y(s)}),children:"The same check of what is stored"})})]})}function ro(){const t=ue.value?.find(s=>Object.keys(s.relations).length>0),n=t&&Object.keys(t.relations).at(-1),r=()=>{const s=JSON.stringify(`${t?.type??"document"}:example#${n??"viewer"}@user:nobody`);ge.value=`setup:
  warrants: []
tests:
  - {name: somebody else, check: ${s}, expect: false}
`};return e(M,{title:"There are no tests yet.",children:[e("p",{children:["A test is a check with the answer that you expect. ",e("a",{href:C("why"),children:"Explain a check"})," or"," ",e("a",{href:C("queries"),children:"run a query"}),", and pin what must stay as it is: each pinned check comes with the warrants that it depends on. The tests are run at each change of the file, with the current model."]}),e("p",{children:e("button",{type:"button",class:"primary",onClick:r,children:"Start with an example"})})]})}const ao=8,so=40,io=[{name:"Why",hint:"explain a check",run:()=>j("why")},{name:"Objects",hint:"page",run:()=>j("data")},{name:"Warrants",hint:"page",run:()=>j("data",{show:"warrants"})},{name:"Queries",hint:"page",run:()=>j("queries"),needs:{scope:"query"}},{name:"History",hint:"page",run:()=>j("history"),needs:{scope:"events"}},{name:"Live",hint:"changes as they are made",run:()=>j("live"),needs:{scope:"events"}},{name:"Model",hint:"page",run:()=>j("model"),needs:{scope:"read",ofAllTypes:!0}},{name:"Tests",hint:"page",run:()=>j("tests"),needs:{scope:"read",ofAllTypes:!0}},{name:"Keys",hint:"page of the service",run:()=>j("service")},{name:"Sessions",hint:"page of the service",run:()=>j("service",{show:"sessions"})},{name:"Webhooks",hint:"page of the service",run:()=>j("service",{show:"webhooks"})},{name:"Metrics",hint:"page of the service",run:()=>j("service",{show:"metrics"})}],oo=[{name:"New warrant",hint:"action",run:()=>j("data",{show:"warrants",open:"warrant"}),needs:{scope:"write"},isChange:!0},{name:"New object",hint:"action",run:()=>j("data",{open:"object"}),needs:{scope:"write"},isChange:!0},{name:"Import a file",hint:"action",run:()=>j("data",{open:"file"}),needs:{scope:"write"},isChange:!0},{name:"Change the colours",hint:"action",run:lr},{name:"Sign out",hint:"action",run:()=>dr()}];async function co(t,n){const r=t.trim(),s=lo(r),a=ho(r),i=r?uo(r):[],o=r?await po(r,n):[],c=new Set(o.map(l=>l.name));return[...a.filter(l=>!c.has(l.name)),...o,...s,...i].slice(0,so)}function lo(t){const n=t.toLowerCase();return[...io,...oo].filter(({needs:a,isChange:i})=>(!a||!je(a))&&!(i&&G.value!==void 0)).filter(({name:a})=>a.toLowerCase().includes(n)).toSorted((a,i)=>Number(i.name.toLowerCase().startsWith(n))-Number(a.name.toLowerCase().startsWith(n)))}function ho(t){const n=Me(t);if(n){const{subject:s,relation:a}=n;return[{name:t,hint:"explain this check",run:()=>j("why",{subject:_e(s),relation:a,object:y(n)})}]}if(/^select\s/i.test(t)&&!je({scope:"query"}))return[{name:t,hint:"run this query",run:()=>j("queries",{q:t})}];const r=Y(t);return r?[{name:y(r),hint:"object or subject",run:()=>j("object",{name:y(r)})}]:[]}function uo(t){return je({scope:"read",ofAllTypes:!0})?[]:(ue.value??[]).flatMap(({type:r,relations:s})=>[r,...Object.keys(s).map(a=>`${r}#${a}`)]).filter(r=>r.includes(t)).toSorted((r,s)=>Number(s.startsWith(t))-Number(r.startsWith(t))).map(r=>({name:r,hint:"in the model",run:()=>j("model",{of:r})}))}async function po(t,n){const r=t.indexOf(":"),a={objectType:r>=0?t.slice(0,r):N.value?.[0],q:r>=0?t.slice(r+1):t,limit:ao,asOf:G.value},{results:i}=await R("v2/objects",{query:a,signal:n});return i.map(o=>{const c=y(o);return{name:c,hint:Ht(o.meta)??"object or subject",run:()=>j("object",{name:c})}})}const mo=100;function fo(){return Qt.value==="shortcuts"?e(vo,{}):e(bo,{})}function Mn(){const t=F(null);return L(()=>t.current?.showModal(),[]),t}function qn(){Qt.value=void 0}function bo(){const t=Mn(),[n,r]=m(""),[s,a]=m([]),[i,o]=m(0),c=F(null);L(()=>{const h=new AbortController,p=setTimeout(()=>{co(n,h.signal).then(u=>{h.signal.aborted||(a(u),o(0))},u=>{if(!h.signal.aborted&&(a([]),!(u instanceof g)))throw u})},n?mo:0);return()=>{clearTimeout(p),h.abort()}},[n]),L(()=>{c.current?.children[i]?.scrollIntoView({block:"nearest"})},[i]);function l(h){h&&(t.current?.close(),h.run())}function d(h){const u={ArrowDown:1,ArrowUp:-1}[h.key];u!==void 0&&s.length>0?(h.preventDefault(),o((i+u+s.length)%s.length)):h.key==="Enter"&&(h.preventDefault(),l(s[i]))}return e("dialog",{ref:t,class:"palette","aria-label":"Go to or do",onClose:qn,children:[e("input",{type:"text",class:"code",role:"combobox","aria-label":"Go to or do","aria-expanded":s.length>0,"aria-controls":"commands","aria-activedescendant":s.length>0?`command-${i}`:void 0,autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"an object, a page, a check, a query or an action",value:n,onInput:h=>r(h.currentTarget.value),onKeyDown:d}),e("ul",{class:"options",id:"commands",role:"listbox","aria-label":"Found",ref:c,children:s.map((h,p)=>e("li",{id:`command-${p}`,role:"option","aria-selected":p===i,onClick:()=>l(h),children:[e("span",{class:"name",children:h.name}),e("span",{class:"hint",children:h.hint})]},h.name+h.hint))}),s.length===0&&e("p",{class:"hint",children:"Nothing is called that."})]})}function vo(){const t=Mn();return e("dialog",{ref:t,class:"palette","aria-labelledby":"shortcuts-title",onClose:qn,children:[e("h2",{id:"shortcuts-title",children:"Shortcuts"}),e("dl",{class:"shortcuts",children:hr.map(([n,r])=>e("div",{children:[e("dt",{children:n.split(" ").map(s=>e("kbd",{children:s},s))}),e("dd",{children:r})]},n))}),e("div",{class:"actions",children:e("button",{type:"button",class:"quiet",onClick:()=>t.current?.close(),children:"Close"})})]})}const go=Object.freeze(Object.defineProperty({__proto__:null,DataPage:Jr,HistoryPage:Ba,LivePage:cs,ModelPage:js,ObjectPage:Ws,Palette:fo,QueriesPage:ni,ServicePage:Ki,TestsPage:Qi,loadExample:Cr},Symbol.toStringTag,{value:"Module"}));export{go as p,$e as s};
