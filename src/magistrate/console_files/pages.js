import{r as A,w as E,l as Xe,a as qe,d as m,b as e,R as w,T as D,C as $,c as x,g as j,A as W,k as le,e as P,s as K,f as y,h as F,i as Bn,u as R,F as T,B as O,$ as g,E as ke,j as Ut,m as de,n as z,o as zt,p as Y,q as Gn,t as re,v as Ht,S as Jt,O as ae,x as C,y as I,z as B,D as je,G,H as et,I as he,N as Z,J as N,K as M,L as Te,M as ue,P as Kt,Q as Vt,U as Ae,V as Yt,W as xe,X as _e,Y as Un,Z as zn,_ as Hn,a0 as Qt,a1 as Jn,a2 as Le,a3 as Kn,a4 as J,a5 as Vn,a6 as Yn,a7 as Zt,a8 as Qn,a9 as Xt,aa as Ke,ab as Zn,ac as ut,ad as Xn,ae as er,af as pt,ag as tr,ah as nr,ai as rr,aj as we,ak as ar,al as sr,am as or,an as ir,ao as cr,ap as lr,aq as dr,ar as hr,as as ur,at as pr,au as mr,av as en,aw as fr}from"./console.js";const br=`name: agents with tasks of their own, whose approvals start empty, and which delegate parts of them
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
`,vr=`version 1.0

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
`,gr=`name: repositories of an organization, its nested teams, outside collaborators and protected branches
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
`,yr=`name: documents in folders, shared with people, groups and everyone, and kept from some
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
`,kr=`// lint: ignore direct_permission
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
`,jr=`name: two companies in one application, with roles that mean something only within one of them
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
`,Tr=`version 1.0

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
`,Cr=/warrants:\n((?:\s+- .*\n)+)/,Sr=/- '?(.*?)'?$/gm,xr=/^(.*?)(?:\[(.*)\])?$/,Or={"document-sharing":{model:kr,tests:yr},"multi-tenant-rbac":{model:Tr,tests:jr},"code-hosting":{model:wr,tests:gr},agents:{model:vr,tests:br}};async function Rr(t,n){const{model:r,tests:s}=Or[t],{objectTypes:a}=await A("v2/model/convert",{text:r,accept:"application/json"});n&&!a.some(({type:c})=>c==="user")&&a.unshift({type:"user",relations:{}}),await E("v2/object-types",{method:"PUT",query:n?{replace:"true"}:{},body:a});const[,o=""]=Cr.exec(s)??[],i=[...o.matchAll(Sr)].map(([,c=""])=>Ar(c));await E("v2/writes",{body:{create:{warrants:i}}}),await Xe()}function Ar(t){const[,n="",r]=xr.exec(t)??[],s=qe(n);if(!s)throw new Error(`the example has a warrant that cannot be read: ${t}`);return r?{...s,policy:r}:s}function Ce({count:t,onSubmit:n,children:r}){const[s,a]=m(!1);return e("form",{class:s?"filters":"filters folded",onSubmit:o=>{o.preventDefault(),n?.()},children:[e("button",{type:"button",class:"quiet unfold","aria-expanded":s,onClick:()=>a(!s),children:s?"Hide the filters":t>0?`Filters (${t})`:"Filters"}),r]})}const Er=500,$r=/^(.*?)\[(.*)\]$/s;function Ir(t){if(t.trimStart().startsWith("[")){const n=mt(t,0);if(Array.isArray(n))return n.map((r,s)=>ft(r,s+1))}return t.split(`
`).flatMap((n,r)=>{const s=n.trim();return s===""||s.startsWith("#")?[]:s.startsWith("{")?[ft(mt(s,r+1),r+1)]:[{number:r+1,warrant:tn(s,r+1)}]})}function mt(t,n){try{return JSON.parse(t)}catch{throw Ee(n,"it is not valid JSON")}}function tn(t,n){const[,r=t,s]=$r.exec(t)??[],a=qe(r);if(!a)throw Ee(n,"write a warrant like document:plan#viewer@user:ann, or as JSON");return s?{...a,policy:s}:a}function ft(t,n){if(typeof t=="string")return{number:n,warrant:tn(t,n)};if(typeof t=="object"&&t!==null){if("relation"in t)return{number:n,warrant:t};if("objectId"in t)return{number:n,object:t};if("relations"in t)throw Ee(n,"it is an object type; the page Model writes those")}throw Ee(n,"it is neither a warrant nor an object")}function Ee(t,n){return new w(400,"invalid",t>0?`Line ${t}: ${n}`:n)}async function Nr(t,n,r){const s={done:0,of:t.length,created:0,unchanged:0};for(n({...s});s.done<t.length&&!r();){const a=t.slice(s.done,s.done+Er),o=await Mr(a);s.done+=a.length,s.created+=o.created,s.unchanged+=o.unchanged,n({...s})}return s}async function Mr(t){const n=t.filter(a=>a.warrant),r=t.filter(a=>a.object),s={...n.length>0?{warrants:n.map(a=>a.warrant)}:{},...r.length>0?{objects:r.map(a=>a.object)}:{}};try{return await E("v2/writes",{body:{create:s}})}catch(a){if(!(a instanceof w))throw a;const o=/(warrants|objects)\[(\d+)\]/.exec(a.parameter),i=o&&(o[1]==="warrants"?n:r)[Number(o[2])];throw i?new w(a.status,a.code,`Line ${i.number}: ${a.message}`):a}}const qr=67108864;function _r({onDone:t,onClose:n}){const[r,s]=m(),[a,o]=m(),i=D(!1);async function c(){if(!r)throw new w(400,"invalid","Choose a file first");if(r.size>qr)throw new w(400,"invalid","The file is larger than 64 MiB; the command magistrate import takes files of any size");o(void 0);const l=await Nr(Ir(await r.text()),o,()=>i.current),d=l.done<l.of?`Stopped after ${l.done} of ${l.of} lines`:`Imported ${l.of} lines`;t(`${d}: ${l.created} were new, ${l.unchanged} were there already.`)}return e($,{title:"Import a file",action:"Import",onConfirm:c,onClose:()=>{i.current=!0,n()},children:[e("div",{class:"field",children:[e("label",{for:"import-file",children:"File"}),e("input",{id:"import-file",type:"file",required:!0,onChange:l=>s(l.currentTarget.files?.[0])}),e("span",{class:"hint",children:["A line for each warrant, ",e("code",{children:"document:plan#viewer@user:ann"}),", or JSON: warrants and objects as the lists of the API have them. 500 lines are written at a time, all or none. If a line is wrong, correct it and import the file again: what is there already stays as it is."]})]}),a&&e("div",{class:"field",children:[e("label",{for:"import-progress",children:[a.done," of ",a.of," lines"]}),e("progress",{id:"import-progress",max:a.of,value:a.done})]})]})}function pe({page:t}){const{page:n,parameters:r}=x.value;return!t.prevCursor&&!t.nextCursor?null:e("nav",{class:"pager","aria-label":"Pages",children:[e("button",{type:"button",class:"quiet",disabled:!t.prevCursor,onClick:()=>j(n,{...r,prev:t.prevCursor,next:void 0}),children:"Previous"}),e("button",{type:"button",class:"quiet",disabled:!t.nextCursor,onClick:()=>j(n,{...r,next:t.nextCursor,prev:void 0}),children:"Next"})]})}function nn({label:t,children:n}){const r=D(null),[s,a]=m({before:!1,after:!1});return W(()=>{const o=r.current;if(!o)return;const i=()=>{const{scrollLeft:l,scrollWidth:d,clientWidth:h}=o,p=l>1,u=l+h<d-1;a(f=>f.before===p&&f.after===u?f:{before:p,after:u})},c=new ResizeObserver(i);for(const l of[o,...o.children])c.observe(l);return o.addEventListener("scroll",i,{passive:!0}),()=>{c.disconnect(),o.removeEventListener("scroll",i)}},[]),e("div",{class:`scroller${s.before?" more-before":""}${s.after?" more-after":""}`,children:e("div",{class:"scrolled",ref:r,tabIndex:0,role:"region","aria-label":t,children:n})})}function se({label:t,headings:n,hasActions:r,children:s}){return e(nn,{label:t,children:e("table",{children:[e("thead",{children:e("tr",{children:[n.map(a=>e("th",{scope:"col",children:a},a)),r&&e("th",{scope:"col",children:e("span",{class:"sr",children:"Actions"})})]})}),e("tbody",{children:s})]})})}const Lr=1e3,ce=1e3,Wr=5;function We({objectType:t,objectId:n}){return`v2/objects/${encodeURIComponent(t)}/${encodeURIComponent(n)}`}async function rn(t,n,r){const s=await K(t,{query:n,signal:r});return{value:await s.json(),token:s.headers.get("Warrant-Token")??""}}function $e(t,n){return rn(We(t),{},n)}async function Ie(t,n){const r=new Map,{objectType:s,objectId:a}=t;let o;for(const c of[{objectType:s,objectId:a},{subjectType:s,subjectId:a}]){let l;do{const d={...c,limit:Lr,nextCursor:l,asOf:o},h=await rn("v2/warrants",d,n);o??=h.token;for(const p of h.value.results)Dr(p,t)&&r.set(P(p),p);l=h.value.nextCursor}while(l&&r.size<=ce)}const i=[...r.values()];return{value:{warrants:i.slice(0,ce),isCut:i.length>ce},token:o??""}}function Dr({objectType:t,objectId:n,subject:r},s){return t===s.objectType&&n===s.objectId||r.objectType===s.objectType&&r.objectId===s.objectId}async function De(t,n,r,s){let{token:a}=t;for(let o=1;;o+=1){try{await E("v2/writes",{body:{preconditions:[{revision:a}],...r}});return}catch(c){if(!(c instanceof w)||c.code!=="precondition_failed"||o===Wr)throw c}const i=await n();if(JSON.stringify(i.value)!==JSON.stringify(t.value))throw new w(409,"changed",s);a=i.token}}function Pr(t,n,r){const{objectType:s,meta:a}=t,o={objectType:s,objectId:t.objectId},i=l=>l.objectType===s&&l.objectId===o.objectId?{...l,objectId:r}:l,c=n.map(l=>{const{startsAt:d,expiresAt:h}=l,p=i(le(l));return{...p,subject:i(p.subject),...d?{startsAt:d}:{},...h?{expiresAt:h}:{}}});return{delete:{warrants:n.map(le),objects:[o]},create:{objects:[{objectType:s,objectId:r,...a?{meta:a}:{}}],warrants:c}}}function an(t){if(!t.trim())return{};try{const n=JSON.parse(t);if(typeof n=="object"&&n!==null&&!Array.isArray(n))return n}catch(n){throw new w(400,"invalid",`The meta is not JSON: ${n instanceof Error?n.message:""}`)}throw new w(400,"invalid",'The meta must be a JSON object, as in {"name": "Roadmap"}')}function tt(t){return`Somebody else has just changed ${y(t)} or a warrant that names it. Nothing was written; look at it again`}const bt=ce/2-1,Be=5;function sn({text:t,onInput:n}){return e("div",{class:"field",children:[e("label",{for:"meta",children:"Meta"}),e("textarea",{id:"meta",class:"code",rows:Math.min(Math.max(t.split(`
`).length,4),14),spellcheck:!1,placeholder:'{"name": "Roadmap"}',"aria-describedby":"meta-hint",value:t,onInput:r=>n(r.currentTarget.value)}),e("span",{class:"hint",id:"meta-hint",children:"A JSON object. It is shown and searched, and decides nothing."})]})}function Fr({type:t="",onClose:n}){const[r,s]=m({type:t,id:"",meta:""}),a=D(void 0);async function o(){const i=an(r.meta),c=r.type.trim(),l=r.id.trim();if(l){const d={objectType:c,objectId:l};await Br(d,i),a.current=d}else a.current=await E("v2/objects",{body:{objectType:c,meta:i}})}return e($,{title:"New object",action:"Create",isReady:r.type.trim()!=="",onConfirm:o,onClose:()=>{n(),a.current&&j("object",{name:y(a.current)})},children:[e(F,{label:"Type",placeholder:"document",value:r.type,complete:Bn,onInput:i=>s(c=>({...c,type:i})),isRequired:!0}),e("div",{class:"field",children:[e("label",{for:"object-id",children:"Id"}),e("input",{id:"object-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"roadmap","aria-describedby":"object-id-hint",value:r.id,onInput:i=>s({...r,id:i.currentTarget.value})}),e("span",{class:"hint",id:"object-id-hint",children:"Leave it empty for an id that the service makes."})]}),e(sn,{text:r.meta,onInput:i=>s({...r,meta:i})})]})}async function Br(t,n){try{await E("v2/writes",{body:{preconditions:[{absent:t}],create:{objects:[{...t,meta:n}]}}})}catch(r){throw!(r instanceof w)||r.code!=="precondition_failed"?r:new w(400,"exists",`${y(t)} exists already`)}}function Gr({object:t,onDone:n,onClose:r}){const[s,a]=m(),o=R(d=>$e(t,d),[y(t)]),i=o.value,c=s??(i?JSON.stringify(i.value.meta??{},null,2):"");async function l(){if(!i)return;const d={create:{objects:[{...t,meta:an(c)}]}};await De(i,()=>$e(t),d,tt(t)),n(`Saved the meta of ${y(t)}.`)}return e($,{title:`Meta of ${y(t)}`,action:"Save",isReady:i!==void 0,onConfirm:l,onClose:r,children:[o.fault&&e(T,{fault:o.fault,retry:o.reload}),!i&&!o.fault&&e(O,{what:"Reading the object"}),i&&e(sn,{text:c,onInput:a})]})}function Ur({object:t,onDone:n,onClose:r}){const s=y(t),a=R(c=>Ie(t,c),[s]),o=a.value;async function i(){o&&(o.value.isCut?await E(We(t),{method:"DELETE"}):await De(o,()=>Ie(t),{delete:{objects:[t]}},tt(t)),n(`Deleted ${s}.`))}return e($,{title:`Delete ${s}?`,action:"Delete",isDangerous:!0,isReady:o!==void 0,onConfirm:i,onClose:r,children:[a.fault&&e(T,{fault:a.fault,retry:a.reload}),!o&&!a.fault&&e(O,{what:"Finding what ends with it"}),o&&e(g,{children:[e(on,{warrants:o.value.warrants,isCut:o.value.isCut,verb:"delete"}),o.value.isCut?e("p",{children:"These are too many to say who loses access."}):o.value.warrants.length>0&&e(ke,{proposal:{create:[],delete:o.value.warrants.map(le)}}),e("p",{class:"hint",children:["Access through a wildcard, such as ",t.objectType,":*, ends with it, too. The history keeps all of it."]})]})]})}const zr={delete:"with it",move:"with it, and are made anew for the new id"};function on({warrants:t,isCut:n,verb:r}){if(t.length===0)return e("p",{children:"No warrant names it."});const s=n?`More than ${t.length.toLocaleString()}`:t.length.toLocaleString();return e(g,{children:[e("p",{children:[s," ",t.length===1?"warrant names it and ends":"warrants name it and end"," ",zr[r],":"]}),e("ul",{class:"changes",children:[t.slice(0,Be).map(a=>e("li",{children:[e("span",{class:`verb ${r}`,children:r})," ",e("code",{children:P(a)})]},P(a))),t.length>Be&&e("li",{class:"hint",children:["and ",(t.length-Be).toLocaleString()," more"]})]})]})}function Hr({object:t,onClose:n}){const r=y(t),[s,a]=m(t.objectId),[o,i]=m(!1),c=D(!1),l=R(b=>vt(t,b),[r]),d=l.value,h=s.trim(),p=d!==void 0&&d.value.naming.warrants.length>bt,u=d&&Pr(d.value.stored,d.value.naming.warrants,h),f=h!==""&&h!==t.objectId;async function v(){if(!d||!u)return;const b={objectType:t.objectType,objectId:h};await Jr(b),await De(d,()=>vt(t),u,tt(t)),c.current=!0}return e($,{title:`Rename ${r}`,action:"Rename",isReady:f&&d!==void 0&&!p,onConfirm:v,onClose:()=>{n(),c.current&&j("object",{name:`${t.objectType}:${h}`})},children:[l.fault&&e(T,{fault:l.fault,retry:l.reload}),!d&&!l.fault&&e(O,{what:"Finding what names it"}),e("div",{class:"field",children:[e("label",{for:"new-id",children:"New id"}),e("input",{id:"new-id",type:"text",class:"code",autocomplete:"off",autocapitalize:"off",spellcheck:!1,required:!0,value:s,onInput:b=>{a(b.currentTarget.value),i(!1)}})]}),d&&p&&e("p",{children:["More than ",bt," warrants name it, too many for one write. Create the object with its new id, copy the warrants with"," ",e("code",{children:"magistrate export"})," and ",e("code",{children:"magistrate import"}),", and delete this one."]}),d&&u&&!p&&e(g,{children:[e(on,{warrants:d.value.naming.warrants,isCut:!1,verb:"move"}),o?e(ke,{proposal:{create:u.create.warrants,delete:u.delete.warrants}}):d.value.naming.warrants.length>0&&e("button",{type:"button",class:"quiet",disabled:!f,onClick:()=>i(!0),children:"What would it change?"}),e("p",{class:"hint",children:["It is one write: the object with its meta, and every warrant, all or none. Applications that know it by its old id find nothing any more.",d.value.naming.warrants.some(b=>b.policy?.includes("expiresIn"))&&" Conditions with expiresIn count from now, when the warrants are made anew."]})]})]})}async function vt(t,n){const r=await $e(t,n),s=await Ie(t,n);return{value:{stored:r.value,naming:s.value},token:r.token}}async function Jr(t){try{await $e(t)}catch(n){if(n instanceof w&&n.status===404)return;throw n}throw new w(400,"exists",`${y(t)} exists already: choose an id that is free`)}const Kr=zt();function cn({object:t="",subject:n="",onDone:r,onClose:s}){const[a,o]=m({object:t,relation:"",subject:n,policy:"",expires:""}),[i,c]=m(),l=u=>f=>{c(void 0),o(v=>({...v,[u]:f}))};function d(){const u=Y(a.object),f=Gn(a.subject);if(!u)throw new w(400,"invalid","The object must be written type:id, as in document:roadmap");if(!f)throw new w(400,"invalid","The subject must be written type:id or type:id#relation");const v={...u,relation:a.relation.trim(),subject:f};return a.policy.trim()&&(v.policy=a.policy.trim()),a.expires&&(v.expiresAt=new Date(a.expires).toISOString()),v}async function h(){const u=d();await E("v2/warrants",{body:u}),r(`Created ${z(u)}.`)}function p(){try{c(d())}catch(u){if(!(u instanceof w))throw u;c(void 0)}}return e($,{title:"New warrant",action:"Create",onConfirm:h,onClose:s,children:[e(F,{label:"Subject",placeholder:"user:kim or group:eng#member",value:a.subject,complete:Ut,onInput:l("subject"),isRequired:!0}),e(F,{label:"Relation",placeholder:"viewer",value:a.relation,complete:Kr,onInput:l("relation"),isRequired:!0}),e(F,{label:"Object",placeholder:"document:roadmap",value:a.object,complete:de,onInput:l("object"),isRequired:!0}),e("details",{children:[e("summary",{children:"Conditions"}),e("div",{class:"field",children:[e("label",{for:"policy",children:"Policy"}),e("input",{id:"policy",type:"text",class:"code",placeholder:'network == "office"',value:a.policy,onInput:u=>l("policy")(u.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"expires",children:"Expires at"}),e("input",{id:"expires",type:"datetime-local",value:a.expires,onInput:u=>l("expires")(u.currentTarget.value)})]})]}),i?e(ke,{proposal:{create:[i],delete:[]}}):e("button",{type:"button",class:"quiet",onClick:p,disabled:!a.object||!a.relation||!a.subject,children:"What would it change?"})]})}function Vr({warrant:t,onDone:n,onClose:r}){const s=le(t);async function a(){await E("v2/warrants",{method:"DELETE",body:s}),n(`Deleted ${z(t)}.`)}return e($,{title:"Delete this warrant?",action:"Delete",isDangerous:!0,onConfirm:a,onClose:r,children:[e("ul",{class:"changes",children:e("li",{children:[e("span",{class:"verb delete",children:"delete"})," ",e("code",{children:z(t)})]})}),e(ke,{proposal:{create:[],delete:[s]}})]})}function _({time:t,isExact:n=!1}){return e("time",{dateTime:t,title:t,children:n?re(t):Ht(t)})}function ln({warrants:t,onDone:n}){const[r,s]=m();return e(g,{children:[e(se,{label:"Warrants",headings:["Subject","Relation","Object","Condition","Created"],hasActions:!0,children:t.map(a=>e("tr",{children:[e("td",{children:e(Jt,{subject:a.subject})}),e("td",{children:e("b",{children:a.relation})}),e("td",{children:e(ae,{object:a})}),e("td",{children:e(Yr,{warrant:a})}),e("td",{class:"time",children:a.createdAt&&e(_,{time:a.createdAt})}),e("td",{class:"row-actions",children:[!a.subject.relation&&a.subject.objectId!=="*"&&a.objectId!=="*"&&e("a",{href:C("why",{subject:y(a.subject),relation:a.relation,object:y(a)}),children:["Why",e("span",{class:"sr",children:[" ",z(a)]})]}),e(I,{needs:{scope:"write"},class:"quiet",onClick:()=>s(a),children:["Delete…",e("span",{class:"sr",children:[" ",z(a)]})]})]})]},z(a)+(a.policy??"")))}),r&&e(Vr,{warrant:r,onDone:n,onClose:()=>s(void 0)})]})}function Yr({warrant:t}){return e(g,{children:[t.policy&&e("code",{children:t.policy}),t.startsAt&&e("span",{class:"hint",children:["from ",e(_,{time:t.startsAt})," "]}),t.expiresAt&&e("span",{class:"hint",children:["until ",e(_,{time:t.expiresAt})]})]})}const dn=50,me={scope:"write"},nt={next:void 0,prev:void 0};function Qr(){const t=x.value.parameters.show==="warrants",{open:n}=x.value.parameters,[r,s]=m();W(()=>{n&&(B.value===void 0&&!je(me)&&s(n),G({open:void 0}))},[n]);const[a,o]=m("");return e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:"Data"}),e("nav",{class:"tabs","aria-label":"Kinds of data",children:[e("a",{href:C("data"),"aria-current":t?void 0:"page",children:"Objects"}),e("a",{href:C("data",{show:"warrants"}),"aria-current":t?"page":void 0,children:"Warrants"})]}),e("div",{class:"actions",children:[e(et,{needs:me}),e(I,{needs:me,class:"quiet",onClick:()=>s("file"),children:"Import a file…"}),e(I,{needs:me,class:"quiet",onClick:()=>s("object"),children:"New object"}),e(I,{needs:me,class:"primary",onClick:()=>s("warrant"),children:[e(he,{name:"plus"}),"New warrant"]})]})]}),a&&e(Z,{children:e("p",{children:a})}),t?e(na,{turn:a,onDone:o}):e(Zr,{turn:a}),r==="object"&&e(Fr,{type:x.value.parameters.type,onClose:()=>s(void 0)}),r==="warrant"&&e(cn,{onDone:o,onClose:()=>s(void 0)}),r==="file"&&e(_r,{onDone:o,onClose:()=>s(void 0)})]})}function Zr({turn:t}){const{type:n=N.value?.[0],q:r,sort:s,order:a,next:o,prev:i,at:c}=x.value.parameters,l=R(d=>A("v2/objects",{query:{objectType:n,q:r,limit:dn,sortBy:s,sortOrder:a,nextCursor:o,prevCursor:i,asOf:c},signal:d}),[n,r,s,a,o,i,c,t]);return e(g,{children:[e(Ce,{count:[n,r].filter(Boolean).length,children:[e(ra,{label:"Type",name:"type",value:n}),e("div",{class:"field",children:[e("label",{for:"q",children:"Contains"}),e("input",{id:"q",type:"search",value:r??"",placeholder:"a part of the id or the meta",onChange:d=>G({q:d.currentTarget.value||void 0,...nt})})]}),e(hn,{sorts:{objectId:"Id",createdAt:"Created"}})]}),l.fault&&e(T,{fault:l.fault,retry:l.reload}),!l.value&&!l.fault&&e(O,{what:"Reading objects"}),l.value?.results.length===0&&e(Xr,{isFiltered:!!(n||r),onLoaded:l.reload}),l.value&&l.value.results.length>0&&e(g,{children:[e(ea,{objects:l.value.results}),e(pe,{page:l.value})]})]})}function Xr({isFiltered:t,onLoaded:n}){return t?e(M,{title:"No object has all of this."}):ue.value?.length===0?e(M,{title:"There are no objects yet.",children:[e("p",{children:["First, a ",e("a",{href:C("model"),children:"model"})," says which types of objects there are. Write one, or start with an example: documents in folders, shared with people and groups."]}),e(Kt,{onDone:n})]}):e(M,{title:"There are no objects yet.",children:e("p",{children:"A warrant creates the objects that it names. Start with a new warrant, or import a file of warrants and objects."})})}function ea({objects:t}){return e(se,{label:"Objects",headings:["Object","Meta","Created"],children:t.map(n=>e("tr",{children:[e("td",{children:e(ae,{object:n})}),e("td",{class:"meta",children:Vt(n.meta)}),e("td",{class:"time",children:e(_,{time:n.createdAt})})]},y(n)))})}const ta=zt();function na({turn:t,onDone:n}){const r=x.value.parameters,{object:s="",relation:a="",subject:o="",order:i,next:c,prev:l,at:d}=r,[h,p]=m({object:s,relation:a,subject:o}),u=R(b=>{const k=Y(s),L=Y(o),q={objectType:k?.objectType??(s.replace(/:$/,"")||N.value?.[0]),objectId:k?.objectId,relation:a,subjectType:L?.objectType??(o.replace(/:$/,"")||void 0),subjectId:L?.objectId,limit:dn,sortOrder:i,nextCursor:c,prevCursor:l,asOf:d};return A("v2/warrants",{query:q,signal:b})},[s,a,o,i,c,l,d,t]),f=b=>{j("data",{show:"warrants",order:i,...h,...b})},v=!!(s||a||o);return e(g,{children:[e(Ce,{count:[s,a,o].filter(Boolean).length,onSubmit:()=>f({}),children:[e(F,{label:"Subject",placeholder:"any",value:h.subject,complete:de,onInput:b=>p({...h,subject:b}),onChoose:b=>f({subject:b})}),e(F,{label:"Relation",placeholder:"any",value:h.relation,complete:ta,onInput:b=>p({...h,relation:b}),onChoose:b=>f({relation:b})}),e(F,{label:"Object",placeholder:N.value?`any ${N.value[0]}`:"any",value:h.object,complete:de,onInput:b=>p({...h,object:b}),onChoose:b=>f({object:b})}),e(hn,{sorts:{createdAt:"Created"}}),e("button",{type:"submit",class:"quiet",children:"Filter"})]}),u.fault&&e(T,{fault:u.fault,retry:u.reload}),!u.value&&!u.fault&&e(O,{what:"Reading warrants"}),u.value?.results.length===0&&e(M,{title:v?"No warrant has all of this.":"There are no warrants yet.",children:e("p",{children:v?"Leave a field empty to see more. This lists what is written; what rules give is under Queries.":"A warrant gives a subject a relation on an object, as in: user:kim is viewer of document:roadmap."})}),u.value&&u.value.results.length>0&&e(g,{children:[e(ln,{warrants:u.value.results,onDone:n}),e(pe,{page:u.value})]})]})}function ra({label:t,name:n,value:r}){const s=N.value??Te();return e("div",{class:"field",children:[e("label",{for:n,children:t}),e("select",{id:n,value:r??"",onChange:a=>G({[n]:a.currentTarget.value||void 0,...nt}),children:[!N.value&&e("option",{value:"",children:"all"}),r&&!s.includes(r)&&e("option",{value:r,children:r}),s.map(a=>e("option",{value:a,children:a},a))]})]})}function hn({sorts:t}){const{sort:n=Object.keys(t)[0],order:r="ASC"}=x.value.parameters;return e("div",{class:"field",children:[e("label",{for:"order",children:"Order"}),e("select",{id:"order",value:`${n} ${r}`,onChange:s=>{const[a,o]=s.currentTarget.value.split(" ");G({sort:a,order:o,...nt})},children:Object.entries(t).flatMap(([s,a])=>[e("option",{value:`${s} ASC`,children:[a,", ascending"]},`${s} ASC`),e("option",{value:`${s} DESC`,children:[a,", descending"]},`${s} DESC`)])})]})}const aa=[["history","Past changes"],["live","Live"]];function un(){return e("nav",{class:"tabs","aria-label":"Changes",children:aa.map(([t,n])=>e("a",{href:C(t),"aria-current":t===x.value.page?"page":void 0,children:n},t))})}const gt=2,sa=4e6;function pn(t,n){const[r,s]=[t.split(`
`),n.split(`
`)];let a=0;for(;a<r.length&&a<s.length&&r[a]===s[a];)a+=1;let o=0;for(;o<r.length-a&&o<s.length-a&&r.at(-1-o)===s.at(-1-o);)o+=1;const i=oa(r.slice(a,r.length-o),s.slice(a,s.length-o));if(i===void 0)return;const c=l=>({sign:" ",text:l});return ia([...r.slice(0,a).map(c),...i,...r.slice(r.length-o).map(c)])}function oa(t,n){const r=n.length+1;if((t.length+1)*r>sa)return;const s=new Uint32Array((t.length+1)*r),a=(l,d)=>s[l*r+d]??0;for(let l=t.length-1;l>=0;l-=1)for(let d=n.length-1;d>=0;d-=1){const h=Math.max(a(l+1,d),a(l,d+1));s[l*r+d]=t[l]===n[d]?a(l+1,d+1)+1:h}const o=[];let[i,c]=[0,0];for(;i<t.length||c<n.length;){const[l,d]=[t[i],n[c]];l!==void 0&&l===d?(o.push({sign:" ",text:l}),[i,c]=[i+1,c+1]):l!==void 0&&(d===void 0||a(i+1,c)>=a(i,c+1))?(o.push({sign:"-",text:l}),i+=1):(o.push({sign:"+",text:d??""}),c+=1)}return o}function ia(t){const n=new Set;for(const[r,{sign:s}]of t.entries())if(s!==" ")for(let a=r-gt;a<=r+gt;a+=1)n.add(a);return t.flatMap((r,s)=>n.has(s)?[r]:n.has(s-1)&&t.slice(s).some(a=>a.sign!==" ")?[{sign:" ",text:""}]:[])}const Pe="text/plain",ca=100;async function ye(t,n){const r=await K("v2/model",{accept:Pe,query:{asOf:n},signal:t});return{text:await r.text(),token:r.headers.get("Service-Token")??""}}async function la(t){return(await K("v2/model/convert",{text:t,accept:Pe})).text()}const da=/299 - "([^"]*)"/g;async function ha(t,n){const s=await K("v2/model/convert",{text:t,accept:Pe,query:n?{leaveOut:"true"}:{}}),a=[...(s.headers.get("Warning")??"").matchAll(da)].map(([,o=""])=>o);return{text:await s.text(),notes:a}}async function ua(t,n){const r=pa(await A("v2/model/convert",{text:t,accept:"application/json",signal:n})),[s,a,o,i]=await Promise.all([ye(n),A("v2/model/plan",{text:t,signal:n}),ma(r,n),K("v2/model/convert",{body:r,accept:Pe,signal:n}).then(c=>c.text())]);return{newest:s,plan:a,access:o,lines:pn(s.text,i)}}function pa({objectTypes:t,policies:n}){const r=(s,a)=>+(s>a)-+(s<a);return{objectTypes:t.toSorted((s,a)=>r(s.type,a.type)),policies:n.toSorted((s,a)=>r(s.name,a.name))}}async function ma(t,n){try{const r={proposal:{...t,replace:!0},limit:ca};return await A("v2/difference",{body:r,signal:n})}catch(r){if(r instanceof w&&r.status===400)return r;throw r}}async function fa(t,n,r){await E("v2/model",{method:"PUT",text:t,query:r?{keepExisting:"true"}:{},headers:{"If-Match":`"${n}"`}})}function mn({warrants:t={}}){return[...t.created??[],...t.deleted??[],...t.expired??[]]}function ba({objects:t={}}){return[...t.created??[],...t.updated??[],...t.deleted??[]]}function va(t,n,r,s){const a={actions:[],kept:[]};for(const i of mn(t))ga(i,n,r,s,a);const o=new Set(a.actions.flatMap(({verb:i,what:c})=>i==="delete"&&"warrant"in c?[P(c.warrant)]:[]));for(const i of t.objects?.created??[])wa(i,r,o,a);for(const i of t.objects?.updated??[])wt(i,!1,n,r,a);for(const i of t.objects?.deleted??[])wt(i,!0,n,r,a);return a}function ga(t,n,r,s,{actions:a,kept:o}){const i=P(t);if(a.some(({what:h})=>"warrant"in h&&P(h.warrant)===i))return;const c=n.warrants.get(i),l=r.warrants.get(i),d=c?.expiresAt!==void 0&&Date.parse(c.expiresAt)<=s;if(c&&d)o.push({name:i,reason:"would have expired by now"});else if(c&&!l)a.push({verb:"create",what:{warrant:Ge(c)}});else if(c&&l&&!yt(c,l))a.push({verb:"change",what:{warrant:Ge(c)},note:"to the time limits that it had"});else if(!c&&l){const h=yt(t,l)?void 0:"its time limits were changed since";a.push({verb:"delete",what:{warrant:Ge(l)},note:h})}else o.push({name:i,reason:c?"exists again":"is deleted already"})}function wa(t,n,r,{actions:s,kept:a}){const o=y(t),i=n.objects.get(o);i?fn(t,i)?n.naming.get(o)?.some(c=>!r.has(c))?a.push({name:o,reason:"is named by other warrants now"}):s.push({verb:"delete",what:{object:i}}):a.push({name:o,reason:"was changed since"}):a.push({name:o,reason:"is deleted already"})}function wt(t,n,r,s,{actions:a,kept:o}){const i=y(t),c=r.objects.get(i),l=s.objects.get(i);c&&(!l&&!n?o.push({name:i,reason:"does not exist any more"}):l?fn(c,l)?o.push({name:i,reason:"is as it was"}):a.push({verb:"change",what:{object:c},note:"to the meta that it had"}):a.push({verb:"create",what:{object:c}}))}function Ge(t){const{startsAt:n,expiresAt:r}=t;return{...le(t),...n?{startsAt:n}:{},...r?{expiresAt:r}:{}}}function yt(t,n){return t.startsAt===n.startsAt&&t.expiresAt===n.expiresAt}function fn(t,n){return JSON.stringify(t.meta??{})===JSON.stringify(n.meta??{})}function bn(t,n){const r=i=>t.flatMap(c=>c.verb===i&&"warrant"in c.what?[c.what.warrant]:[]),s=i=>t.flatMap(c=>c.verb===i&&"object"in c.what?[c.what.object]:[]),a=new Set(r("delete").map(P)),o=s("delete").filter(i=>n.get(y(i))?.every(c=>a.has(c))??!0);return{delete:{warrants:r("delete").map(le),objects:o.map(({objectType:i,objectId:c})=>({objectType:i,objectId:c}))},create:{warrants:[...r("create"),...r("change")],objects:[...s("create"),...s("change")].map(({objectType:i,objectId:c,meta:l})=>({objectType:i,objectId:c,meta:l??{}}))}}}const ya=8388608,vn=200,kt=8,ka=1e3,ja=["access_granted","access_revoked"];async function Ta(t,n){const r=Yt(t),s=[["v2/resource-events",void 0],...ja.map(c=>["v2/access-events",c])],a=xe(t);return(await Promise.all(s.map(async([c,l])=>{for(const d of[r,r-1]){const p=await A(c??"",{query:{type:l,until:d,limit:100},signal:n}),u=p.results.find(f=>xe(f)<a);if(u||!p.nextCursor)return u}}))).filter(c=>c!==void 0).sort((c,l)=>xe(l)-xe(c))[0]?.token}async function Ca(t,n,r){const s=new AbortController,a=await K("v2/watch",{query:{since:t},accept:"application/x-ndjson",signal:AbortSignal.any([r,s.signal])});try{return await Sa(a,n)}finally{s.abort()}}async function Sa(t,n){const r=t.body?.pipeThrough(new TextDecoderStream).getReader();let s="";for(let a=await r?.read();a&&!a.done;a=await r?.read()){s+=a.value;const o=s.split(`
`);s=o.pop()??"";for(const i of o){const c=JSON.parse(i);if(c.event==="revision"&&c.token===n)return c}if(s.length>ya)throw rt()}throw new w(410,"gone","The stream of changes does not have this one any more")}function rt(){return new w(400,"too_large",`It changed more than can be reverted here, which is ${ce.toLocaleString()} warrants and objects`)}async function jt(t,n,r){const s=r??new AbortController().signal,a=await Ca(t,n,s),[o,i]=[mn(a),ba(a)];if(o.length+i.length>ce||i.length>vn)throw rt();const c=(await K("v2/objects",{query:{limit:1},signal:s})).headers.get("Warrant-Token")??"",l={warrants:await Tt(o,t,s),objects:await St(i,t,s)},d={warrants:await Tt(o,c,s),objects:await St(i,c,s)},h=new Map;await at(a.objects?.created??[],async u=>{const{value:f}=await Ie(u,s);h.set(y(u),f.warrants.map(P))});const p={...d,naming:h};return{value:{...va(a,l,p,Date.now()),naming:h},token:c}}async function Tt(t,n,r){const s=Ct(t,({objectType:l,objectId:d})=>({objectType:l,objectId:d})),a=Ct(t,({subject:l})=>({subjectType:l.objectType,subjectId:l.objectId})),o=s.length<=a.length?s:a;if(o.length>vn)throw rt();const i=new Set(t.map(P)),c=new Map;return await at(o,async l=>{let d;do{const h={...l,limit:ka,nextCursor:d,asOf:n},p=await A("v2/warrants",{query:h,signal:r});for(const u of p.results)i.has(P(u))&&c.set(P(u),u);d=p.nextCursor}while(d)}),c}function Ct(t,n){return[...new Map(t.map(r=>[JSON.stringify(n(r)),n(r)])).values()]}async function St(t,n,r){const s=new Map;return await at(t,async a=>{try{const{objectType:o,objectId:i,meta:c}=await A(We(a),{query:{asOf:n},signal:r});s.set(y(a),{objectType:o,objectId:i,...c?{meta:c}:{}})}catch(o){if(!(o instanceof w)||o.status!==404)throw o}}),s}async function at(t,n){for(let r=0;r<t.length;r+=kt)await Promise.all(t.slice(r,r+kt).map(n))}function xt(t){return!Ae(t)&&t.kind!=="object"}async function xa(t,n,r){const[s,a]=await Promise.all([n,void 0].map(d=>A("v2/model",{query:{asOf:d},accept:"application/json",signal:r})));if(!s||!a)throw new Error("two models were requested");const o=d=>new Set(t.flatMap(h=>!Ae(h)&&h.kind===d?[h.resourceId]:[])),i=o("object-type"),c=o("named-policy"),l={objectTypes:[...a.objectTypes.filter(d=>!i.has(d.type)),...s.objectTypes.filter(d=>i.has(d.type))],policies:[...a.policies.filter(d=>!c.has(d.name)),...s.policies.filter(d=>c.has(d.name))]};return(await K("v2/model/convert",{body:l,accept:"text/plain",signal:r})).text()}const Oa={created:"plus",updated:"model",deleted:"no",expired:"history"};function Ot({change:{verb:t,what:n}}){return e("li",{class:t,children:[e("span",{class:"sign",children:[e(he,{name:Oa[t]}),t]}),"warrant"in n?e("span",{children:["warrant: ",e(_e,{warrant:n.warrant})]}):"object"in n?e("span",{children:["object ",e(ae,{object:n.object})]}):e("span",{children:[n.kind," ",e("span",{class:"name",children:n.name})]})]})}const Oe=3;function gn({changes:t,count:n=t.length}){return e(g,{children:[e("ul",{class:"events",children:t.slice(0,Oe).map((r,s)=>e(Ot,{change:r},s))}),n>Oe&&e("details",{children:[e("summary",{children:[(n-Oe).toLocaleString()," more in this change"]}),e("ul",{class:"events",children:t.slice(Oe).map((r,s)=>e(Ot,{change:r},s))}),n>t.length&&e("p",{class:"hint",children:["The other ",(n-t.length).toLocaleString()," are not listed here."]})]})]})}const Ra={"+":"added: ","-":"removed: "," ":""};function wn({lines:t}){return e("div",{class:"changed-lines",tabIndex:0,role:"region","aria-label":"Changed lines",children:t.map(({sign:n,text:r},s)=>e("div",{class:n==="+"?"added":n==="-"?"removed":void 0,children:[e("span",{"aria-hidden":"true",children:[n," "]}),e("span",{class:"sr",children:Ra[n]}),r]},s))})}const Aa=50;function yn({before:t,token:n}){const[r,s]=m([]),[a,o]=m(),i=R(c=>A("v2/difference",{query:{from:t,to:n,limit:Aa,nextCursor:a},signal:c}),[t,n,a]);return W(()=>{const c=i.value;c&&s(l=>[...l,...c.results])},[i.value]),i.fault?e(T,{fault:i.fault,retry:i.reload}):i.value?i.value.results.length===0&&r.length===0?e("p",{class:"hint",children:"Nobody gained or lost access."}):e(g,{children:[e(Un,{rows:r}),i.value.nextCursor&&e("button",{type:"button",class:"quiet",disabled:i.isLoading,onClick:()=>o(i.value?.nextCursor),children:"Show more"})]}):e(O,{what:"Comparing access"})}const Ea=/(^|[^/])\/\/(?!\/)/m,Ue=5;function kn({text:t,base:n,onSaved:r,onClose:s}){const a=R(h=>ua(t,h),[t]),[o,i]=m(!1),c=a.value,l=c!==void 0&&c.plan.stranded.length>0&&!o;async function d(){if(c){try{await fa(t,c.newest.token,o)}catch(h){if(!(h instanceof w)||h.status!==412)throw h;a.reload();const p="Somebody else has just changed the model. Nothing was saved, and your text is still here";throw new w(412,h.code,p)}r()}}return e($,{title:"Save this model?",action:"Save",isReady:c!==void 0&&!a.isLoading&&!l&&!jn(c),onConfirm:d,onClose:s,children:[a.fault&&e(T,{fault:a.fault,retry:a.reload}),!c&&!a.fault&&e(O,{what:"Finding what it would change"}),c&&e(g,{children:[c.newest.text!==n.text&&e(Z,{children:e("p",{children:[e("strong",{children:"Somebody else has changed the model since you opened it."})," What you see here is compared with the model as it is now: lines that you did not change are changes of somebody else, which yours would undo."]})}),e($a,{review:c}),Ea.test(t)&&e("p",{class:"hint",children:["Comments (",e("code",{children:"//"}),") are not stored with the model; descriptions (",e("code",{children:"///"}),") are."]}),c.plan.stranded.length>0&&e(Na,{review:c,isKept:o,onKeep:i}),e("section",{class:"effect-of-model",children:[e("h3",{children:"Access"}),c.access instanceof w?e("p",{children:["It is not known who gains and who loses: ",c.access.message,"."]}):e(zn,{rows:c.access.results,hasMore:c.access.nextCursor!==void 0})]})]})]})}function jn({plan:t}){return[t.objectTypes,t.policies].every(n=>Object.values(n).every(r=>r.length===0))}function $a({review:t}){if(jn(t))return e("p",{children:"Nothing would change: the service has this model."});const{plan:n,lines:r}=t;return e(g,{children:[e("ul",{class:"changes",children:[e(Rt,{kind:"object type",changes:n.objectTypes}),e(Rt,{kind:"policy",changes:n.policies})]}),r?e(wn,{lines:r}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})]})}const Ia=[["created","create"],["changed","change"],["deleted","delete"]];function Rt({kind:t,changes:n}){return e(g,{children:Ia.map(([r,s])=>n[r].map(a=>e("li",{children:[e("span",{class:`verb ${s}`,children:s})," ",e("span",{children:[t," ",e("span",{class:"name",children:a})]})]},r+a)))})}function Na({review:t,isKept:n,onKeep:r}){const{stranded:s,more:a}=t.plan;return e("div",{class:"notice fault",role:"alert",children:[e("p",{children:e("strong",{children:[a?`More than ${s.length}`:s.length," ",s.length===1&&!a?"warrant is":"warrants are"," not allowed by this model:"]})}),e("ul",{children:[s.slice(0,Ue).map(o=>e("li",{children:e("code",{children:z(o)})},z(o))),s.length>Ue&&e("li",{children:["and ",a?"more":`${s.length-Ue} more`]})]}),e("p",{children:"Delete them first, allow them, or keep them: they stay stored, and count again when a model allows them."}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:n,onChange:o=>r(o.currentTarget.checked)}),"Keep them without effect"]})]})}const Ma="Somebody else has just changed what this would revert. Nothing was written; look at it again";function qa({revision:t,findBefore:n,onDone:r,onClose:s}){const{token:a}=t,o=R(async v=>{const b=await n(v);return{before:b,seen:await jt(b,a,v)}},[a]),[i,c]=m(new Set),l=o.value,d=l?.seen.value.actions??[],h=d.filter(v=>!i.has(fe(v))),p=l?.seen.value.naming??new Map;async function u(){if(!l)return;const v=bn(h,p);await De(l.seen,()=>jt(l.before,a),Wa(v),Ma),r(`Reverted ${h.length===1?"one change":`${h.length.toLocaleString()} changes`}.`)}function f(v){const b=new Set(i);b.delete(v)||b.add(v),c(b)}return e($,{title:"Revert this change?",action:"Revert",isReady:h.length>0,onConfirm:u,onClose:s,children:[o.fault&&e(T,{fault:o.fault}),!l&&!o.fault&&e(O,{what:"Comparing with now"}),l&&d.length===0&&e("p",{children:"There is nothing to revert: all of it is as it was before."}),d.length>0&&e("fieldset",{class:"choices reversal",children:[e("legend",{children:"What was changed later by others stays. This would be written, all or none:"}),d.map(v=>e("label",{children:[e("input",{type:"checkbox",checked:!i.has(fe(v)),onChange:()=>f(fe(v))}),e("span",{class:`verb ${v.verb}`,children:v.verb}),e("span",{children:[e("code",{children:fe(v)}),v.note&&e("span",{class:"hint",children:[" ",v.note]})]})]},fe(v)))]}),l&&e(La,{kept:l.seen.value.kept}),h.length>0&&e(_a,{actions:h})]})}function fe({what:t}){return"warrant"in t?P(t.warrant):y(t.object)}function _a({actions:t}){const{delete:n,create:r}=bn(t,new Map);return n.warrants.length+r.warrants.length===0?null:e(ke,{proposal:{create:r.warrants,delete:n.warrants}})}function La({kept:t}){return t.length===0?null:e("details",{children:[e("summary",{children:[t.length.toLocaleString()," ",t.length===1?"stays":"stay"," as now"]}),e("ul",{class:"kept",children:t.map(({name:n,reason:r})=>e("li",{children:[e("code",{children:n})," ",r]},n))})]})}function Wa(t){const n=s=>Object.fromEntries(Object.entries(s).filter(([,a])=>a.length>0)),r={delete:n(t.delete),create:n(t.create)};return Object.fromEntries(Object.entries(r).filter(([,s])=>Object.keys(s).length>0))}function Da({revision:t,findBefore:n,onDone:r,onClose:s}){const a=R(async o=>({text:await xa(t.events,await n(o),o),base:await ye(o)}),[t.token]);return a.value?e(kn,{...a.value,onSaved:()=>{r("The definitions are as they were before."),Xe()},onClose:s}):e($,{title:"Revert the model?",action:"Save",isReady:!1,onConfirm:Pa,onClose:s,children:a.fault?e(T,{fault:a.fault}):e(O,{what:"Reading the model"})})}function Pa(){return Promise.reject(new w(400,"invalid","It is not known yet what to save"))}function Fa({revision:t,isComplete:n,onDone:r}){const{token:s,createdAt:a,actor:o,events:i}=t,c=x.value.parameters.moment===s,[l,d]=m(),h=i.some(xt),p=i.some(k=>!xt(k)),u=[...i.filter(Ae),...i.filter(k=>!Ae(k))],f=k=>Ba(t,n,k),v={revision:t,findBefore:f,onDone:r,onClose:()=>d(void 0)},b=re(a);return e("li",{"aria-current":c||s===B.value?"time":void 0,children:[e("div",{class:"revision-head",children:[e(_,{time:a,isExact:!0}),e("span",{class:"actor",children:o??"unknown"}),e("a",{href:C("data",{at:s}),children:["As of that time",e("span",{class:"sr",children:[", ",b]})]}),e("a",{href:C("history",{moment:s,until:a}),children:["Link",e("span",{class:"sr",children:[" to this change, ",b]})]})]}),e(gn,{changes:u.map(Hn)}),t.isPartial&&e("p",{class:"hint",children:["This change has more than the ",i.length," events that are read so far."]}),!N.value&&e(g,{children:[e(At,{title:"Who gained, who lost",isFirstOpen:c,children:e(Ga,{find:f,token:s})}),h&&e(At,{title:"What changed in the model",isFirstOpen:c,children:e(Ua,{find:f,token:s})}),e("div",{class:"actions small",children:[p&&e(I,{needs:{scope:"write"},class:"quiet",onClick:()=>d("data"),children:["Revert…",e("span",{class:"sr",children:[" the change of ",b]})]}),h&&e(I,{needs:{scope:"model",ofAllTypes:!0},class:"quiet",onClick:()=>d("model"),children:["Revert the model…",e("span",{class:"sr",children:[" of ",b]})]})]})]}),l==="data"&&e(qa,{...v}),l==="model"&&e(Da,{...v})]})}async function Ba(t,n,r){const[s]=t.events,a=n&&!t.isPartial?t.before:s&&await Ta(s,r);if(a)return a;throw new w(410,"gone","This is the first change that is kept: there is nothing to compare it with")}function At({title:t,isFirstOpen:n,children:r}){const[s,a]=m(n);return e("details",{open:s,onToggle:o=>a(o.currentTarget.open),children:[e("summary",{children:t}),s&&r]})}function Ga({find:t,token:n}){const r=R(t,[n]);return r.fault?e("p",{class:"hint",children:[r.fault.message,"."]}):r.value?e(yn,{before:r.value,token:n}):e(O,{what:"Comparing access"})}function Ua({find:t,token:n}){const r=R(async a=>{const[o,i]=await Promise.all([ye(a,await t(a)),ye(a,n)]);return{lines:pn(o.text,i.text)}},[n]);if(r.fault)return e(T,{fault:r.fault});if(!r.value)return e(O,{what:"Comparing the models"});const{lines:s}=r.value;return s?e(wn,{lines:s}):e("p",{class:"hint",children:"The texts are too long to be compared line by line."})}const ze=25,za=500;function Ha(){const{type:t=N.value?.[0],object:n="",actor:r="",until:s}=x.value.parameters,[a,o]=m({message:"",count:0}),i=Y(n),c={...i?{object:i}:{type:t},...s?{until:Ja(s)}:{}};return e("div",{class:"history",children:[e("div",{class:"heading",children:[e("h1",{children:"History"}),e(un,{})]}),e("p",{class:"lead",children:"Every change of the model, the objects and the warrants, with who made it. Open one to see who gained and who lost access, or revert it."}),e(Ka,{type:t,object:n,actor:r,until:s}),a.message&&e(Z,{children:e("p",{children:a.message})}),e(Ya,{filter:c,actor:r,onDone:l=>o(({count:d})=>({message:l,count:d+1}))},JSON.stringify([c,r,a.count]))]})}function Ja(t){return t.endsWith("Z")?Yt({createdAt:t}):Date.parse(t)*1e3+999999}function Ka({type:t,object:n,actor:r,until:s}){const[a,o]=m(n);W(()=>o(n),[n]);const i=N.value??Te(),c=!!(t&&!N.value||n||r||s),l=(d,h)=>G({[d]:h.trim()||void 0,moment:void 0});return e(Ce,{count:[N.value?"":t,n,r,s].filter(Boolean).length,onSubmit:()=>l("object",a),children:[e("div",{class:"field",children:[e("label",{for:"type",children:"Type"}),e("select",{id:"type",value:n?"":t??"",disabled:n!=="",onChange:d=>l("type",d.currentTarget.value),children:[!N.value&&e("option",{value:"",children:"all"}),i.map(d=>e("option",{value:d,children:d},d))]})]}),!N.value&&e(F,{label:"Object",placeholder:"any",value:a,complete:de,onInput:d=>{o(d),d===""&&l("object","")},onChoose:d=>l("object",d)}),e("div",{class:"field",children:[e("label",{for:"actor",children:"Made by"}),e("input",{id:"actor",type:"search",class:"code",placeholder:"anybody",value:r,onChange:d=>l("actor",d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"until",children:"Until"}),e("input",{id:"until",type:"datetime-local",step:"1",value:s?Va(s):"",onChange:d=>l("until",d.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Filter"}),c&&e("a",{class:"quiet-link",href:C("history"),children:"All changes"})]})}function Va(t){const n=new Date(t);return Number.isNaN(n.getTime())?"":new Date(n.getTime()-n.getTimezoneOffset()*6e4).toISOString().slice(0,19)}function Ya({filter:t,actor:n,onDone:r}){const s=D(Qt(t)),[a,o]=m(),[i,c]=m(),[l,d]=m(1);async function h(u){let f=0;for(;;){const{revisions:v,hasMore:b}=await s.current.readMore(ze,u);f+=ze;const k=v.filter(L=>!n||(L.actor??"unknown").includes(n));if(!b||k.length>=l*ze||f>=za||!n)return{revisions:k,hasMore:b,searchedTo:v.at(-1)?.createdAt}}}W(()=>{const u=new AbortController;return h(u.signal).then(f=>!u.signal.aborted&&o(f),f=>{if(!u.signal.aborted){if(!(f instanceof w))throw f;c(f)}}),()=>u.abort()},[l]);const p=!!(t.type||t.object||t.until||n);return e(g,{children:[i&&e(T,{fault:i}),!a&&!i&&e(O,{what:"Reading changes"}),a?.revisions.length===0&&e(M,{title:p?"No change has all of this.":"Nothing has been changed yet.",children:e("p",{children:p?"Changes are listed as long as events are kept.":"What you write is listed here, as long as events are kept."})}),e("ol",{class:"timeline",children:a?.revisions.map(u=>e(Fa,{revision:u,isComplete:!t.type&&!t.object,onDone:r},u.token))}),a?.hasMore&&e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>d(u=>u+1),children:"Earlier changes"}),n&&a.searchedTo&&e("span",{class:"hint",children:["Looked at all changes since ",e(_,{time:a.searchedTo,isExact:!0}),"."]})]})]})}const st=300,Ve=50,Qa=[["objectTypes","object type"],["policies","policy"]],Za=["created","updated","deleted","expired"];function Xa(t,n){const{id:r,data:s}=t,a=String(s.time),o=String(s.token);if(t.name==="revision"){const{changes:d,count:h}=es(s),p=typeof s.actor=="string"?s.actor:void 0;return{kind:"revision",id:r,time:a,token:o,actor:p,before:n,changes:d,count:h}}if(t.name!=="access")return;if(s.resync!==void 0)return{kind:"gap",id:r,time:a,words:"This change concerns too much access to list it."};const i=s.gained??[],c=s.lost??[],l=[...c.slice(0,Ve).map(Et(!1)),...i.slice(0,Ve).map(Et(!0))];return{kind:"access",id:r,time:a,at:r===o?o:a,rows:l,count:i.length+c.length}}function Et(t){return n=>({...n,isGained:t})}function es(t){const n=[];let r=0;const s=(a,o)=>{for(const i of Za){const c=a?.[i]??[];r+=c.length;for(const l of c.slice(0,Ve-n.length))n.push({verb:i,...o(l)})}};s(t.warrants,a=>({what:{warrant:a}}));for(const[a,o]of Qa)s(t[a],i=>({what:{kind:o,name:String(i.type??i.name)}}));return s(t.objects,a=>({what:{object:a}})),{changes:n,count:r}}function ts(t,n){return[...n.toReversed(),...t].slice(0,st)}function $t(t){if(t.kind==="gap")return t.words;const n=t.count>1?` and ${t.count-1} more`:"";if(t.kind==="revision"){const[s]=t.changes;return`${s?Jn(s):"nothing"}${n}${t.actor?`, by ${t.actor}`:""}`}const[r]=t.rows;return r?`${Le(r.subject)} ${r.isGained?"gained":"lost"} ${r.relation} on ${y(r)}${n}`:"nothing"}function ns(t){const n=t.at(-1);return n?t.length===1?$t(n):`${t.length} new entries, the last: ${$t(n)}`:""}const He=2;function rs({entry:t}){return t.kind==="gap"?e("li",{children:[e("div",{class:"revision-head",children:e("time",{dateTime:t.time,children:re(t.time)})}),e("p",{children:[t.words," See the ",e("a",{href:C("history"),children:"past changes"}),"."]})]}):e("li",{children:[e("div",{class:"revision-head",children:[e("time",{dateTime:t.time,children:re(t.time)}),t.kind==="revision"&&e("span",{class:"actor",children:t.actor??"unknown"}),e("a",{href:C("data",{at:t.kind==="revision"?t.token:t.at}),children:["As of that time",e("span",{class:"sr",children:[", ",re(t.time)]})]})]}),t.kind==="revision"?e(as,{entry:t}):e(ss,{entry:t})]})}function as({entry:{before:t,token:n,changes:r,count:s}}){const[a,o]=m(!1);return e(g,{children:[e(gn,{changes:r,count:s}),t&&e("details",{onToggle:i=>o(i.currentTarget.open),children:[e("summary",{children:"Who gained, who lost"}),a&&e(yn,{before:t,token:n})]})]})}function ss({entry:{rows:t,count:n,at:r}}){return e(g,{children:[e("ul",{class:"access",children:t.map((s,a)=>e(os,{row:s,at:r},a))}),n>t.length&&e("p",{class:"hint",children:[(n-t.length).toLocaleString()," more are not listed here."]})]})}function os({row:t,at:n}){const r={subject:Le(t.subject),relation:t.relation,object:y(t)},s=t.objectId==="*"||t.subject.objectId==="*";return e("li",{class:t.isGained?"gained":"lost",children:[e("span",{class:"sign",children:[e(he,{name:t.isGained?"plus":"no"}),t.isGained?"gained":"lost"]}),e("div",{children:[e(Jt,{subject:t.subject})," ",e("b",{children:t.relation})," on ",e(ae,{object:t}),t.conditional&&e("span",{class:"hint",children:" if the context allows it"})," ",!s&&e("a",{href:C("why",{...r,at:n}),children:["Why",e("span",{class:"sr",children:[" ",Object.values(r).join(" ")]})]}),t.cause&&e(is,{cause:t.cause})]})]})}function is({cause:{created:t,deleted:n,objectTypes:r}}){const s=[...t.map(a=>({row:a,verb:"was created"})),...n.map(a=>({row:a,verb:"was deleted"}))];return e("div",{class:"hint",children:[s.slice(0,He).map(({row:a,verb:o},i)=>e("div",{children:["because ",e(cs,{row:a})," ",o]},i)),r.length>0&&e("div",{children:["because the object type ",r.join(", ")," was changed"]}),s.length>He&&e("div",{children:["and ",s.length-He," more causes"]})]})}function cs({row:t}){return"relation"in t?e(_e,{warrant:t}):e(ae,{object:t})}const ls=200,ds=5e3,Tn={path:"v2/watch",fields:{objectType:"Object types",relation:"Relations",subjectType:"Types of subjects"}},Cn={path:"v2/watch/access",fields:{of:"Access"}};function hs(){const{parameters:t}=x.value,n=t.show==="access",r=n?ps(t):us(t);return e("div",{class:"live",children:[e("div",{class:"heading",children:[e("h1",{children:"Live"}),e(un,{})]}),B.value?e(M,{title:"The past does not change.",children:e("p",{children:"This page shows what is written from now on. Go back to now to see it."})}):e(g,{children:[e(ms,{isOfAccess:n},String(n)),r?e(fs,{isOfAccess:n,filter:r},JSON.stringify([n,r])):e(M,{title:"Which access?",children:e("p",{children:["Write a type, a relation and a type of subjects, such as ",e("code",{children:"document#viewer@user"}),". Whoever gains or loses this access is listed here, with the cause."]})})]})]})}function us({objectType:t,relation:n,subjectType:r}){const s=Re(t);return{objectType:s.length>0?s:N.value??[],relation:Re(n),subjectType:Re(r)}}function ps({of:t,subject:n,object:r}){const s=Re(t);return s.length>0?{of:s.join(","),subject:n,object:r}:void 0}function Re(t=""){return t.split(/[\s,]+/).filter(Boolean)}function ms({isOfAccess:t}){const{parameters:n}=x.value,[r,s]=m(n),a=t?Cn.fields:Tn.fields,o=i=>c=>s({...r,[i]:c});return e(Ce,{count:Object.keys(a).filter(i=>n[i]).length,onSubmit:()=>G({...r,show:n.show}),children:[e("div",{class:"field",children:[e("label",{for:"live-show",children:"Show"}),e("select",{id:"live-show",value:t?"access":"changes",onChange:i=>G({show:i.currentTarget.value==="access"?"access":void 0}),children:[e("option",{value:"changes",children:"what is written"}),e("option",{value:"access",children:"who gains and loses access"})]})]}),Object.entries(a).map(([i,c])=>e("div",{class:"field",children:[e("label",{for:`live-${i}`,children:c}),e("input",{id:`live-${i}`,type:"text",spellcheck:!1,required:t,placeholder:t?"document#viewer@user":"all",value:r[i]??"",onInput:l=>o(i)(l.currentTarget.value)})]},i)),t&&e(g,{children:[e(F,{label:"Subject",value:r.subject??"",placeholder:"all",complete:Ut,onInput:o("subject")}),e(F,{label:"Object",value:r.object??"",placeholder:"all",complete:de,onInput:o("object")})]}),e("button",{type:"submit",class:"quiet",children:"Filter"})]})}function fs({isOfAccess:t,filter:n}){const{state:r,entries:s,isPaused:a,setPaused:o,retry:i,clear:c}=vs(t?Cn.path:Tn.path,n),l=gs(s);return e(g,{children:[e("div",{class:"actions",children:[e("div",{role:"status",children:e(bs,{state:r,isPaused:a})}),e("button",{type:"button",class:"quiet","aria-pressed":a,onClick:()=>o(!a),children:a?"Continue":"Pause"}),e("button",{type:"button",class:"quiet",disabled:s.length===0,onClick:c,children:"Clear"}),r.is==="waiting"&&!a&&e("button",{type:"button",class:"quiet",onClick:i,children:"Connect now"})]}),r.is==="stopped"&&e(T,{fault:r.fault,retry:i}),e("p",{class:"sr",role:"status",children:l}),s.length===0&&r.is==="connected"&&!a&&e(M,{title:"Nothing has happened yet.",children:e("p",{children:["What is written from now on is listed here, ",st," entries at most."]})}),e("ol",{class:"timeline","aria-label":t?"Access gained and lost":"Changes",children:s.map(d=>e(rs,{entry:d},d.id))})]})}function bs({state:t,isPaused:n}){return n?e(g,{children:[e(J,{tone:"unknown",children:"Paused"})," ",e("span",{class:"hint",children:"It goes on with what follows the first entry."})]}):t.is==="connected"?e(J,{tone:"yes",children:"Connected"}):t.is==="connecting"?e(J,{tone:"unknown",children:"Connecting"}):e(g,{children:[e(J,{tone:"no",children:"Not connected"})," ",t.is==="waiting"&&e("span",{class:"hint",children:[t.fault?.message??"The connection was cut."," It is tried again ",t.seconds===1?"at once":`in ${t.seconds} s`,"."]})]})}function vs(t,n){const[r,s]=m({is:"connecting"}),[a,o]=m([]),[i,c]=m(!1),l=D(null);return W(()=>{const d=Object.values(n).flat().filter(Boolean).length===0,h=[];let p,u,f=0;const v=()=>{p=void 0;const q=h.splice(0);o(X=>ts(X,q))},b=q=>{h.push(q),h.length>st&&h.shift(),p??=setTimeout(v,ls)},k=q=>{const X=Xa(q,u);d&&(u=String(q.data.token)),X&&b(X)},L=()=>{f+=1,u=void 0,b({kind:"gap",id:`gap-${f}`,time:new Date().toISOString(),words:"Changes before this are missing: they are not kept any more, or the store was restored."})};return l.current=Kn(t,n,{onState:s,onEvent:k,onGap:L}),()=>clearTimeout(p)},[]),W(()=>(i||l.current?.start(),()=>l.current?.stop()),[i]),{state:r,entries:a,isPaused:i,setPaused:c,retry:()=>l.current?.start(),clear:()=>o([])}}function gs(t){const[n,r]=m(""),s=D(void 0),a=D(0);return W(()=>{const o=t.findIndex(l=>l.id===s.current),i=o<0?t:t.slice(0,o);if(i.length===0)return;const c=setTimeout(()=>{s.current=t[0]?.id,a.current=Date.now()+ds,r(ns(i.toReversed()))},Math.max(0,a.current-Date.now()));return()=>clearTimeout(c)},[t]),n}const ws=["type","id","relation","implicit","warrant"];function ys(t){const n=t.map(r=>[r.objectType,r.objectId+(r.subjectRelation?`#${r.subjectRelation}`:""),r.relation,String(r.isImplicit),r.warrant?z(r.warrant):""]);return[ws,...n].map(r=>r.map(ks).join(",")).join(`\r
`)+`\r
`}function ks(t){const n=/^[=+\-@\t\r]/.test(t)?`'${t}`:t;return/[",\r\n]/.test(n)?`"${n.replaceAll('"','""')}"`:n}function Ne(t,n,r){const s=URL.createObjectURL(new Blob([r],{type:n})),a=document.createElement("a");a.href=s,a.download=t,a.click(),setTimeout(()=>URL.revokeObjectURL(s),0)}const It=1048576;function js({onImported:t,onClose:n}){const[r,s]=m(""),[a,o]=m(!1);async function i(l){l&&s((await l.text()).slice(0,It+1))}async function c(){if(r.trim()==="")throw new w(400,"invalid","Paste a model, or choose a file");if(r.length>It)throw new w(400,"invalid","The model has more than 1,048,576 characters; use the command magistrate model convert");t(await ha(r,a))}return e($,{title:"Import a model",action:"Convert",onConfirm:c,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"model-file",children:"File"}),e("input",{id:"model-file",type:"file",onChange:l=>{i(l.currentTarget.files?.[0])}})]}),e("div",{class:"field",children:[e("label",{for:"foreign-model",children:"Or paste the model"}),e("textarea",{id:"foreign-model",class:"code",rows:12,spellcheck:!1,"aria-describedby":"foreign-model-hint",value:r,onInput:l=>s(l.currentTarget.value)}),e("span",{class:"hint",id:"foreign-model-hint",children:"A model of OpenFGA, in its language or as JSON, a schema of SpiceDB, or a model of this service. It is put into the editor; nothing is saved yet."})]}),e("label",{class:"choice",children:[e("input",{type:"checkbox",checked:a,onChange:l=>o(l.currentTarget.checked)}),"Leave out what cannot be expressed here, with all that depends on it"]})]})}const Ts=300,Nt={scope:"model",ofAllTypes:!0},Cs=`version 1.0

type user

type document
    relation owner [user]

    relation viewer [user]
    inherit viewer if
        relation owner
`,Ye=Vn(void 0);function Ss(){const t=R(s=>ye(s,B.value),[B.value]),[n,r]=m("");return e("div",{class:"model",children:[e("h1",{children:"Model"}),n&&e(Z,{children:e("p",{children:n})}),t.fault&&e(T,{fault:t.fault,retry:t.reload}),t.value===void 0&&!t.fault&&e(O,{what:"Reading the model"}),t.value!==void 0&&e(xs,{stored:t.value,onSaved:()=>{Ye.value=void 0,r("The model was saved."),t.reload(),Xe()},onChange:()=>r("")},`${B.value??""} ${t.value.text}`)]})}function xs({stored:t,onSaved:n,onChange:r}){const s=B.value!==void 0,a=!/^type /m.test(t.text),o=a?Cs:t.text,i=s?void 0:Ye.peek(),c=D(i?.base??t),[l,d]=m(i?.text??o),[h,p]=m(l),[u,f]=m(!1),[v,b]=m(!1),[k,L]=m(),[q,X]=m(),ee=D(void 0),ct=l!==o,Se=R(Rs,[]),{open:Fe}=x.value.parameters;W(()=>{Fe&&(b(Fe==="import"&&!s),G({open:void 0}))},[Fe]),W(()=>{const S=setTimeout(()=>p(l),Ts);return()=>clearTimeout(S)},[l]);const oe=R(S=>A("v2/model/validate",{text:h,signal:S}),[h]),U=oe.value,lt=h===l&&!oe.isLoading;function dt(S){d(S),X(void 0),r(),s||(Ye.value=S===o?void 0:{text:S,base:c.current})}function Dn(S){L(S),ee.current?ee.current.setText(S.text):dt(S.text)}function Pn(){L(void 0),c.current=t,ee.current?.setText(o)}async function Fn(){try{ee.current?.setText(await la(l))}catch(S){if(!(S instanceof w))throw S;X(S)}}const ht=Se.value;return e(g,{children:[e("div",{class:"actions",children:[e(I,{needs:Nt,class:"primary",disabled:!(ct||a)||!lt||!U?.valid,onClick:()=>f(!0),children:"Review and save…"}),!s&&e("button",{type:"button",class:"quiet",disabled:!lt||!U?.valid,onClick:Fn,children:"Format"}),ct&&!s&&e("button",{type:"button",class:"quiet",onClick:Pn,children:"Back to the stored model"}),!s&&e("button",{type:"button",class:"quiet",onClick:()=>b(!0),children:"Import…"}),e("button",{type:"button",class:"quiet",onClick:()=>Ne("model.txt","text/plain",l),children:"Download"}),e(et,{needs:Nt,children:", so it cannot save. Try changes here, and download them."})]}),q&&e(T,{fault:q}),k&&e(Os,{notes:k.notes}),Se.fault&&e(T,{fault:Se.fault}),ht?e(ht,{first:l,settled:h,found:U,isReadOnly:s,start:x.value.parameters.of,onText:dt,onReady:S=>ee.current=S}):!Se.fault&&e(O,{what:"Loading the editor"}),e("section",{class:"faults card","aria-label":"Validation","aria-live":"polite",children:[oe.fault&&e(T,{fault:oe.fault,retry:oe.reload}),!U&&!oe.fault&&e(O,{what:"Validating"}),U&&e(As,{found:U}),U&&e(Mt,{title:"Errors",faults:U.errors,onChoose:S=>ee.current?.goTo(S.line,S.column)}),U&&e(Mt,{title:"Warnings",faults:U.warnings,onChoose:S=>ee.current?.goTo(S.line,S.column)})]}),u&&e(kn,{text:l,base:c.current,onSaved:n,onClose:()=>f(!1)}),v&&e(js,{onImported:Dn,onClose:()=>b(!1)})]})}function Os({notes:t}){return e(Z,{children:[e("p",{children:"The model is in the editor. Review it, and save it."}),t.length>0&&e("ul",{children:t.map(n=>e("li",{children:n},n))})]})}async function Rs(){try{return(await Yn(async()=>{const{Workbench:t}=await import("./workbench.js");return{Workbench:t}},[],import.meta.url)).Workbench}catch{throw new w(0,"unreachable","The editor could not be loaded.")}}function As({found:t}){return e("p",{class:"sentence-line",children:[e(J,{tone:t.valid?"yes":"no",children:t.valid?"Valid":"Not valid"})," ",t.valid&&t.warnings.length===0&&"The model has no faults."]})}function Mt({title:t,faults:n,onChoose:r}){return n.length===0?null:e(g,{children:[e("h2",{children:t}),e("ul",{class:"fault-list",children:n.map((s,a)=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>r(s),children:["Line ",s.line,", column ",s.column]}),e("span",{children:s.message}),s.suggestion&&!s.message.includes(s.suggestion)&&e("span",{class:"hint",children:["Write ",s.suggestion,"."]}),e("code",{class:"hint",children:s.code})]},a))})]})}function ve(t){return y(t)+(t.subjectRelation?`#${t.subjectRelation}`:"")}const Es="can-";function $s(t,n,r){return[...ot(t,n)].map(([s,a])=>{const o=new Set(a.map(d=>d.relation)),i=[...r(s),...o].filter(d=>o.has(d)),c=[...new Set(i)],l=Is(c,a);return{objectType:s,relations:c.filter(d=>l.has(d)),folded:c.filter(d=>!l.has(d)),lines:Sn(a)}})}function Is(t,n){const r=t.filter(s=>s.startsWith(Es));return r.length===0?new Set(t):new Set([...r,...n.filter(s=>!s.isImplicit).map(s=>s.relation)])}function Sn(t){return[...ot(t,ve)].map(([n,r])=>({name:n,row:r[0],cells:new Map(r.map(s=>[s.relation,s]))}))}function Ns(t,n){const r=n.trim().toLowerCase();return r?t.filter(s=>s.name.toLowerCase().includes(r)):t}function Ms(t,n){const r=t.flatMap(a=>[...a.cells.values()].filter(o=>n.includes(o.relation))),s=[...ot(r,a=>a.warrant?z(a.warrant):"")];return s.sort(([,a],[,o])=>o.length-a.length),s.map(([,a])=>({reason:a[0].warrant,lines:Sn(a)}))}function qs(t,n){return t.filter(r=>r.cells.has(n)).length}function ot(t,n){const r=new Map;for(const s of t){const a=r.get(n(s));a?a.push(s):r.set(n(s),[s])}return r}function _s({context:t}){const[n,r]=m(t);return Zt(()=>r(t),[t]),e("details",{open:t!=="",children:[e("summary",{children:"Try a context for policies"}),e("form",{class:"filters",onSubmit:s=>{s.preventDefault(),G({context:n.trim()||void 0,next:void 0,prev:void 0})},children:[e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:n,onInput:s=>r(s.currentTarget.value)})]}),e("button",{type:"submit",class:"quiet",children:"Try it"})]})]})}function Ls({matrix:t,filter:n,isGrouped:r,...s}){const[a,o]=m(!1),i=a?[...t.relations,...t.folded]:t.relations,c=Ns(t.lines,n),l=s.areSubjects?"Who has access":`Access to ${t.objectType}`;return e("section",{class:"matrix",children:[e("div",{class:"heading",children:[!s.areSubjects&&e("h2",{children:t.objectType}),e("p",{class:"hint",children:[c.length===t.lines.length?c.length:`${c.length} of ${t.lines.length}`," ",s.areSubjects?"with access":"that it has access to"]}),t.folded.length>0&&e("button",{type:"button",class:"linklike","aria-expanded":a,onClick:()=>o(!a),children:a?"Fewer relations":`${t.folded.length} more: ${t.folded.join(", ")}`})]}),e(nn,{label:l,children:e("table",{children:[e("thead",{children:e("tr",{children:[e("th",{scope:"col",children:s.areSubjects?"Subject":"Object"}),i.map(d=>e("th",{scope:"col",children:[d," ",e("span",{class:"count",children:qs(c,d)})]},d))]})}),r?Ms(c,i).map(({reason:d,lines:h})=>e("tbody",{children:[e("tr",{children:e("th",{scope:"rowgroup",colSpan:i.length+1,class:"reason",children:d?e(_e,{warrant:d}):"Nothing excludes it"})}),e(qt,{lines:h,relations:i,...s})]},d?JSON.stringify(d):"")):e("tbody",{children:e(qt,{lines:c,relations:i,...s})})]})})]})}function qt({lines:t,relations:n,...r}){return e(g,{children:t.map(s=>e("tr",{children:[e("th",{scope:"row",children:[e(ae,{object:s.row}),s.row.subjectRelation&&`#${s.row.subjectRelation}`]}),n.map(a=>e("td",{children:e(Ws,{row:s.cells.get(a),name:s.name,...r})},a))]},s.name))})}function Ws({row:t,name:n,fixed:r,areSubjects:s,context:a}){if(!t)return e("span",{class:"sr",children:"no"});const{policy:o,expiresAt:i}=t.warrant??{},c=e(g,{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t.isImplicit?"ring":"dot"})}),e("span",{class:"sr",children:[t.relation," of ",n,", ",t.isImplicit?"by rules":"by warrant"]}),o&&e("span",{class:"condition",children:" if"}),i&&e("span",{class:"condition",children:[" until ",e(_,{time:i})]})]});if(t.objectId==="*")return e("span",{class:"cell",children:c});const l=s?{subject:n,object:r}:{subject:r,object:y(t)};return e("a",{class:"cell",title:o&&`if ${o}`,href:C("why",{...l,relation:t.relation,context:a}),children:c})}function Ds(){return e("ul",{class:"legend",children:[["dot","ring"].map(t=>e("li",{children:[e("svg",{viewBox:"0 0 16 16","aria-hidden":"true",children:e("circle",{cx:"8",cy:"8",r:"5",class:t})}),t==="dot"?"by warrant":"by rules"]},t)),e("li",{children:[e("b",{children:"if"})," a policy holds"]})]})}const Ps=1e3;async function xn(t,n,r,s){let a;try{a=n?JSON.parse(n):void 0}catch{throw new w(400,"invalid",'The context is not JSON: write {"network": "office"}')}return A("v2/query",{body:{q:t,context:a,...r},signal:s})}async function On(t,n,r,s,a){const o=[];let i;do{const c=await xn(t,n,{limit:Ps,nextCursor:i,asOf:s},a);o.push(...c.results),i=c.nextCursor}while(i&&o.length<r);return{rows:o,isCut:i!==void 0}}const Fs=50,_t=1e3,Lt="because",be={scope:"write"},Wt={who:"Who has access to it",what:"What it has access to",on:"Warrants on it",to:"Warrants to it"};function Bs(){const{name:t="",tab:n}=x.value.parameters,r=Y(t),[s,a]=m(),[o,i]=m("");if(!r)return e(M,{title:"Which object?",children:e("p",{children:["An object is written ",e("code",{children:"type:id"}),". Find one in the ",e("a",{href:C("data"),children:"data"}),"."]})});const c=ue.value?.find(p=>p.type===r.objectType),l=c!==void 0&&Object.keys(c.relations).length>0,d=r.objectType==="user",h=n&&n in Wt?n:l&&!d?"who":"what";return e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:e("span",{class:Qn(t),children:t})}),e("div",{class:"actions",children:[e(et,{needs:be}),r.objectId!=="*"&&e(g,{children:[e(I,{needs:be,class:"quiet",onClick:()=>a("meta"),children:"Edit meta…"}),e(I,{needs:be,class:"quiet",onClick:()=>a("rename"),children:"Rename…"}),e(I,{needs:be,class:"quiet",onClick:()=>a("delete"),children:"Delete…"})]}),e(I,{needs:be,class:"primary",onClick:()=>a("warrant"),children:[e(he,{name:"plus"}),"New warrant"]})]})]}),e(Gs,{object:r,turn:o}),o&&e(Z,{children:e("p",{children:o})}),e("nav",{class:"tabs","aria-label":"About this object",children:Object.entries(Wt).map(([p,u])=>e("a",{href:C("object",{name:t,tab:p}),"aria-current":p===h?"page":void 0,children:u},p))}),h==="who"||h==="what"?e(Xt,{needs:{scope:"query"},children:e(Us,{object:r,areSubjects:h==="who",turn:o})}):e(Js,{object:r,isSubject:h==="to",turn:o,onDone:i}),s==="warrant"&&e(cn,{...h==="who"||h==="on"?{object:t}:{subject:t},onDone:i,onClose:()=>a(void 0)}),s==="meta"&&e(Gr,{object:r,onDone:i,onClose:()=>a(void 0)}),s==="rename"&&e(Hr,{object:r,onClose:()=>a(void 0)}),s==="delete"&&e(Ur,{object:r,onDone:i,onClose:()=>a(void 0)})]},t)}function Gs({object:t,turn:n}){const r=We(t),s=N.value?.includes(t.objectType)===!1,a=R(s?void 0:c=>A(r,{query:{asOf:B.value},signal:c}),[r,B.value,n]);if(s)return e("p",{class:"hint",children:["Your key is limited to ",N.value?.join(", "),": only access to such objects is shown."]});if(a.fault?.status===404)return e("p",{class:"hint",children:"It is not stored; warrants may name it all the same."});if(a.fault)return e(T,{fault:a.fault,retry:a.reload});if(!a.value)return e("p",{class:"hint",children:"…"});const{meta:o,createdAt:i}=a.value;return e(g,{children:[e("p",{class:"hint",children:["Created ",e(_,{time:i})]}),o&&Object.keys(o).length>0&&e("dl",{class:"meta-list",children:Object.entries(o).map(([c,l])=>e("div",{children:[e("dt",{children:c}),e("dd",{children:typeof l=="string"?l:JSON.stringify(l)})]},c))})]})}function Us({object:t,areSubjects:n,turn:r}){const{context:s=""}=x.value.parameters;return e(g,{children:[e(_s,{context:s}),e(Hs,{object:t,areSubjects:n,turn:r,context:s})]})}function zs(t){return Object.keys(ue.value?.find(n=>n.type===t)?.relations??{})}function Hs({object:t,areSubjects:n,turn:r,context:s}){const{at:a,filter:o="",group:i}=x.value.parameters,[c,l]=m(_t),d=y(t),h=N.value?.join(", ")??"*",p=n?`select * of type * for ${Ke(t)}`:`select ${h} where ${Ke(t)} is *`,u=R(k=>On(p,s,c,a,k),[p,s,a,r,c]);if(u.fault?.status===404)return e(M,{title:`The model does not define the type ${t.objectType}, so nobody has access to it.`});if(u.fault)return e(T,{fault:u.fault,retry:u.reload});if(!u.value)return e(O,{what:"Finding access"});const{rows:f,isCut:v}=u.value;if(f.length===0)return e(M,{title:n?`Nobody has access to ${d}.`:`${d} has access to nothing.`});const b=n?()=>t.objectType:k=>k.objectType;return e(g,{children:[e(Ce,{count:[o,i].filter(Boolean).length,children:[e("div",{class:"field",children:[e("label",{for:"filter",children:"Contains"}),e("input",{id:"filter",type:"search",value:o,onInput:k=>G({filter:k.currentTarget.value})})]}),e("div",{class:"field",children:[e("label",{for:"group",children:"Group by"}),e("select",{id:"group",value:i??"",onChange:k=>G({group:k.currentTarget.value}),children:[e("option",{value:"",children:"nothing"}),e("option",{value:Lt,children:"because of"})]})]})]}),e(Ds,{}),$s(f,b,zs).map(k=>e(Ls,{matrix:k,fixed:d,areSubjects:n,context:s,filter:o,isGrouped:i===Lt},k.objectType)),v&&e("div",{class:"actions",children:[e("p",{class:"hint",children:["There is more than these ",f.length," relations."]}),e("button",{type:"button",class:"quiet",disabled:u.isLoading,onClick:()=>l(c+_t),children:"Show more"})]})]})}function Js({object:t,isSubject:n,turn:r,onDone:s}){const{next:a,prev:o,at:i}=x.value.parameters,c=n?{subjectType:t.objectType,subjectId:t.objectId}:{objectType:t.objectType,objectId:t.objectId},l=n?{objectType:N.value?.[0]}:{},d=R(h=>{const p={...l,...c,limit:Fs,nextCursor:a,prevCursor:o,asOf:i};return A("v2/warrants",{query:p,signal:h})},[y(t),n,a,o,i,r]);return d.fault?e(T,{fault:d.fault,retry:d.reload}):d.value?d.value.results.length===0?e(M,{title:"There are no such warrants."}):e(g,{children:[e(ln,{warrants:d.value.results,onDone:s}),e(pe,{page:d.value})]}):e(O,{what:"Reading warrants"})}function Ks({rows:t,fixed:n,areSubjects:r,context:s}){return e(se,{label:"Results",headings:[r?"Subject":"Object","Relation","How","Because"],hasActions:!0,children:t.map(a=>e("tr",{children:[e("td",{children:[e(ae,{object:a}),a.subjectRelation&&`#${a.subjectRelation}`]}),e("td",{children:e("b",{children:a.relation})}),e("td",{children:a.isImplicit?"by rules":"by warrant"}),e("td",{children:a.warrant?e(_e,{warrant:a.warrant}):"nothing excludes it"}),e("td",{class:"row-actions",children:[n&&a.objectId!=="*"&&e("a",{href:C("why",{subject:r?ve(a):n,relation:a.relation,object:r?n:y(a),context:s}),children:["Why",e("span",{class:"sr",children:[" ",ve(a)," ",a.relation]})]}),n&&a.objectId!=="*"&&e(Zn,{subject:r?ve(a):n,relation:a.relation,object:r?n:y(a),context:s})]})]},`${ve(a)}#${a.relation}`))})}const Rn=/,|[^\s,:]+:"[^"]*"?|[^\s,]+/g,Vs=/(?:[^\s,:]+:"[^"]*"?|[^\s,]*)$/,Qe={"":{select:"select"},select:{where:"where",of:"of"},where:{is:"is"},is:{and:"and"},and:{not:"not",is:"is"},not:{is:"is"},of:{type:"of type"},"of type":{for:"for"},for:{}},Ys={select:!0,where:!0,is:!0,not:!0,"of type":!0,for:!0};function Qs(t,n){const r=Vs.exec(t)?.[0]??"",s=t.slice(0,t.length-r.length);let a="",o=[],i=[],c=!0;for(const p of s.match(Rn)??[]){const u=c&&a in Ys?void 0:Qe[a][p.toLowerCase()];u!==void 0?(a==="select"&&(i=o),a=u,o=[],c=!0):p===","?c=!0:(a!=="select"||p.toLowerCase()!=="explicit")&&(o.push(p),c=!1)}const l={before:s,word:r,keywords:[],isType:!1,isObject:!1,isAll:!1,named:o};if(a===""||a==="of")return{...l,keywords:Object.keys(Qe[a])};if(!c)return{...l,keywords:Zs(a,o,n)};const d=o.length===0,h=o.some(p=>n.includes(p));switch(a){case"select":return{...l,isAll:d,keywords:d&&!/explicit\s+$/i.test(s)?["explicit"]:[],isType:d||h,relationsOf:d||!h?[]:void 0};case"is":return{...l,isAll:d,relationsOf:i.filter(p=>n.includes(p))};case"of type":return{...l,isAll:d,isType:!0};case"and":return{...l,keywords:d?["not"]:[],isObject:d};default:return{...l,isObject:d}}}function Zs(t,n,r){return t==="and"?["is"]:t!=="select"?Object.keys(Qe[t]):n.includes("*")?["where","of type"]:n.every(s=>r.includes(s))?["where"]:["of type"]}function Xs(t){const n=t.match(Rn)??[],r=n.findIndex(o=>/^(where|for)$/i.test(o)),s=r<0?void 0:Y(n[r+1]??"");return{name:s&&`${s.objectType}:${s.objectId}`,areSubjects:n[r]?.toLowerCase()==="for"}}const eo=async(t,n)=>{const r=Qs(t,Te());return(r.isObject?await no(r.word,n):to(r)).map(a=>({...a,label:a.value,value:r.before+a.value,isPrefix:!0}))};function to(t){const{relationsOf:n}=t,r=n&&(n.length>0?n.flatMap(o=>ut(o)):ut()),a=[...t.isType?Te():[],...(r??[]).toSorted(),...t.isAll?["*"]:[]].filter(o=>!t.named.includes(o));return[...new Set([...t.keywords.map(o=>`${o} `),...a])].filter(o=>o.startsWith(t.word)&&o!==t.word).map(o=>({value:o}))}async function no(t,n){return(await de(t.replaceAll('"',""),n)).map(s=>{const a=Y(s.value);return a?{...s,value:Ke(a)}:s})}const ro=50,ao=1e4;function so(){const{q:t="",context:n="",next:r,prev:s,at:a}=x.value.parameters,[o,i]=m({q:t,context:n});Zt(()=>i({q:t,context:n}),[t,n]);const c=R(t?h=>xn(t,n,{limit:ro,nextCursor:r,prevCursor:s,asOf:a},h):void 0,[t,n,r,s,a]),l=o.q!==t||o.context!==n,d=()=>j("queries",{q:o.q.trim(),context:o.context.trim()});return e("div",{children:[e("h1",{children:"Queries"}),e("form",{class:"card query",onSubmit:h=>{h.preventDefault(),d()},children:[e(F,{label:"Query",placeholder:"select document where user:ann is viewer",value:o.q,complete:eo,onInput:h=>i(p=>({...p,q:h})),isRequired:!0,hint:e(g,{children:[e("code",{children:"select TYPES where TYPE:ID is RELATIONS"})," finds objects,"," ",e("code",{children:"select RELATIONS of type TYPES for TYPE:ID"})," finds subjects."]})}),e("details",{open:o.context!=="",children:[e("summary",{children:"Context for policies"}),e("div",{class:"field",children:[e("label",{for:"context",children:"JSON object"}),e("input",{id:"context",type:"text",class:"code",spellcheck:!1,placeholder:'{"network": "office"}',value:o.context,onInput:h=>i({...o,context:h.currentTarget.value})})]})]}),e("div",{class:"actions",children:e("button",{type:"submit",class:"primary",children:"Run"})})]}),!t&&e(io,{}),c.fault&&!l&&e(T,{fault:c.fault,retry:c.reload}),t&&!c.value&&!c.fault&&e(O,{what:"Searching"}),c.value?.results.length===0&&e(M,{title:"Nothing has that.",children:e("p",{children:"A row is here exactly when a check of it is allowed."})}),c.value&&c.value.results.length>0&&e(oo,{page:c.value,q:t,context:n,at:a})]})}function oo({page:t,q:n,context:r,at:s}){const[a,o]=m(),[i,c]=m(""),{name:l,areSubjects:d}=Xs(n);async function h(p){o(void 0),c("Reading all rows…");try{const{rows:u,isCut:f}=await On(n,r,ao,s),v=p==="csv"?ys(u):`${JSON.stringify(u,null,2)}
`;Ne(`query.${p}`,p==="csv"?"text/csv":"application/json",v),c(f?`Saved the first ${u.length} rows: an export has no more.`:`Saved ${u.length} rows.`)}catch(u){if(!(u instanceof w))throw u;c(""),o(u)}}return e(g,{children:[e("div",{class:"heading",children:[e("h2",{children:"Results"}),e("div",{class:"actions",children:[e("span",{class:"hint",role:"status",children:i}),e("button",{type:"button",class:"quiet",onClick:()=>h("csv"),children:"Export CSV"}),e("button",{type:"button",class:"quiet",onClick:()=>h("json"),children:"Export JSON"})]})]}),a&&e(T,{fault:a}),e(Ks,{rows:t.results,fixed:l,areSubjects:d,context:r}),e(pe,{page:t}),e(Xn,{forms:{curl:()=>tr(pt(),"v2/query",{q:n,context:r?JSON.parse(r):void 0,asOf:s}),"a command":()=>{const p=r?JSON.parse(r):void 0;return er(pt(),n,p,s)}}})]})}function io(){const t=ue.value?.filter(s=>Object.keys(s.relations).length>1).at(-1),n=t?Object.keys(t.relations)[0]:void 0;if(!t||!n)return e(M,{title:"There is nothing to query yet: the model has no relations.",children:[e("p",{children:["Write relations into the ",e("a",{href:C("model"),children:"model"}),", or start with an example: documents in folders, shared with people and groups."]}),e(Kt,{})]});const r=[[`select ${t.type} where user:ann is *`,`which objects of type ${t.type} ann has any relation on`],["select * where user:ann is *","everything that ann has access to"],[`select explicit ${t.type} where user:ann is ${n}`,"only what warrants give, without rules"]];return e(M,{title:"List objects, or subjects.",children:e("ul",{class:"starts",children:r.map(([s="",a])=>e("li",{children:[e("button",{type:"button",class:"linklike",onClick:()=>j("queries",{q:s}),children:e("code",{children:s})}),e("span",{class:"hint",children:a})]},s))})})}function it({what:t,text:n,onClose:r}){const[s,a]=m(!1),o=()=>navigator.clipboard.writeText(n).then(()=>a(!0),()=>a(!1));return e("div",{class:"notice",role:"status",children:[e("p",{children:[e("b",{children:t}),", shown only this once:"]}),e("p",{children:e("code",{class:"secret",children:n})}),e("div",{class:"actions",children:[navigator.clipboard!==void 0&&e("button",{type:"button",class:"quiet",onClick:()=>{o()},children:s?"Copied":"Copy"}),e("button",{type:"button",class:"quiet",onClick:r,children:"I have stored it"})]})]})}const co=50,lo={check:"check access, and create sessions",query:"find objects and subjects",read:"read the model and the data, explain, compare",write:"create and delete warrants and objects",model:"change the model",events:"read the history",metrics:"read metrics",keys:"manage keys",webhooks:"manage webhooks, which get all changes",stores:"manage stores, and use all of them",admin:"all of these"};function An(){const{next:t,prev:n}=x.value.parameters,[r,s]=m(0),[a,o]=m(),[i,c]=m(),[l,d]=m(""),h=R(f=>A("v2/keys",{query:{limit:co,nextCursor:t,prevCursor:n},signal:f}),[t,n,r]),p=()=>o(void 0);function u(f,v){c(v),d(f),s(b=>b+1)}return h.fault?e(T,{fault:h.fault,retry:h.reload}):h.value?e(g,{children:[e("div",{class:"actions",children:e("button",{type:"button",class:"primary",onClick:()=>o("create"),children:[e(he,{name:"plus"}),"New key"]})}),i&&e(it,{what:`The key ${i.name}`,text:i.key,onClose:()=>c(void 0)}),l&&!i&&e(Z,{children:e("p",{children:l})}),h.value.results.length===0?e(M,{title:"There are no stored keys.",children:e("p",{children:"Callers share the key that was configured or generated, which may do everything. Give each its own, with the scopes that it needs: its name is beside its changes in the history, and it can be revoked alone."})}):e(ho,{keys:h.value.results,onOpen:o}),e(pe,{page:h.value}),a==="create"&&e(uo,{onDone:u,onClose:p}),typeof a=="object"&&"revoke"in a&&e(po,{of:a.revoke,onDone:u,onClose:p}),typeof a=="object"&&"rotate"in a&&e(mo,{of:a.rotate,onDone:u,onClose:p})]}):e(O,{what:"Reading keys"})}function ho({keys:t,onOpen:n}){return e(se,{label:"Keys",headings:["Name","Begins with","Scopes","Object types","Created","Last used","Expires"],hasActions:!0,children:t.map(r=>e("tr",{children:[e("td",{class:"name",children:r.name}),e("td",{children:e("code",{children:[r.prefix,"…"]})}),e("td",{children:r.scopes.join(", ")}),e("td",{children:r.objectTypes?.join(", ")??"all"}),e("td",{class:"time",children:[e(_,{time:r.createdAt})," by ",r.createdBy]}),e("td",{class:"time",children:r.lastUsedAt?e(_,{time:r.lastUsedAt}):"never"}),e("td",{class:"time",children:r.expiresAt?e(_,{time:r.expiresAt}):"never"}),e("td",{class:"row-actions",children:[e("button",{type:"button",class:"quiet",onClick:()=>n({rotate:r}),children:["Rotate…",e("span",{class:"sr",children:[" ",r.name]})]}),e("button",{type:"button",class:"quiet",onClick:()=>n({revoke:r}),children:["Revoke…",e("span",{class:"sr",children:[" ",r.name]})]})]})]},r.id))})}function uo({onDone:t,onClose:n}){const[r,s]=m(""),[a,o]=m(["check"]),[i,c]=m([]),[l,d]=m("");async function h(){if(a.length===0)throw new w(400,"invalid","A key needs at least one scope");const p={name:r.trim(),scopes:a,...i.length>0?{objectTypes:i}:{},...l?{expiresAt:new Date(l).toISOString()}:{}},u=await E("v2/keys",{body:p});t(`Created the key ${u.name}.`,u)}return e($,{title:"New key",action:"Create",onConfirm:h,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"key-name",children:"Name"}),e("input",{id:"key-name",type:"text",required:!0,maxLength:64,value:r,onInput:p=>s(p.currentTarget.value)}),e("span",{class:"hint",children:"It stands beside the changes of the key in the history."})]}),e(Dt,{legend:"Scopes",choices:Object.entries(lo),chosen:a,onChange:o}),e("details",{children:[e("summary",{children:"Limits"}),e(Dt,{legend:"Object types (none chosen: all)",choices:Te().map(p=>[p,""]),chosen:i,onChange:c}),e("div",{class:"field",children:[e("label",{for:"key-expires",children:"Expires at"}),e("input",{id:"key-expires",type:"datetime-local",value:l,onInput:p=>d(p.currentTarget.value)})]})]})]})}function Dt({legend:t,choices:n,chosen:r,onChange:s}){return e("fieldset",{class:"choices",children:[e("legend",{children:t}),n.map(([a,o])=>e("label",{children:[e("input",{type:"checkbox",checked:r.includes(a),onChange:i=>s(i.currentTarget.checked?[...r,a]:r.filter(c=>c!==a))}),e("span",{children:[e("b",{children:a})," ",o&&e("span",{class:"hint",children:o})]})]},a))]})}function po({of:t,onDone:n,onClose:r}){async function s(){await E("v2/keys/"+encodeURIComponent(t.id),{method:"DELETE"}),n(`Revoked the key ${t.name}.`)}return e($,{title:`Revoke ${t.name}?`,action:"Revoke",isDangerous:!0,onConfirm:s,onClose:r,children:e("p",{children:["Whoever uses ",e("code",{children:[t.prefix,"…"]})," is refused within a second. This cannot be undone. It was last used:"," ",t.lastUsedAt?e(_,{time:t.lastUsedAt}):"never","."]})})}function mo({of:t,onDone:n,onClose:r}){const[s,a]=m("3600");async function o(){const i={graceSeconds:Number(s)},c=await E(`v2/keys/${encodeURIComponent(t.id)}/rotate`,{body:i});n(`Rotated the key ${t.name}.`,c)}return e($,{title:`Replace the secret of ${t.name}?`,action:"Rotate",onConfirm:o,onClose:r,children:e("div",{class:"field",children:[e("label",{for:"grace",children:"The old one stays valid for"}),e("select",{id:"grace",value:s,onChange:i=>a(i.currentTarget.value),children:[e("option",{value:"0",children:"no time: it is refused at once"}),e("option",{value:"3600",children:"an hour"}),e("option",{value:"86400",children:"a day"})]})]})})}const fo=/^(\w+)(?:\{(.*)\})? (\S+)$/,bo=/(\w+)="((?:[^"\\]|\\.)*)"/g;function vo(t,n){const r=[];for(const s of t.split(`
`)){const a=fo.exec(s);if(!a)continue;const o=Object.fromEntries([...(a[2]??"").matchAll(bo)].map(i=>[i[1]??"",i[2]??""]));r.push({name:a[1]??"",labels:o,value:Number(a[3])})}return{at:n,samples:r}}function go(t,n){const r=t&&Math.max(n.at-t.at,.001),s=t?yo(t,n):n.samples,a=(p,u)=>r&&H(p,u)/r,o=H(s,"magistrate_graph_hits_total"),i=o+H(s,"magistrate_graph_misses_total")+H(s,"magistrate_graph_given_up_total"),c=s.filter(p=>p.name===te&&/^5/.test(p.labels.status??"")),l=Pt(s),h=[...Pt(n.samples.filter(p=>p.name===te))].map(([p,u])=>{const f=l.get(p)??[];return{route:p,total:H(u,te),perSecond:a(f,te),...Ft(f)}});return{total:H(n.samples,te),perSecond:a(s,te),...Ft(s),cacheHits:i>0?o/i:void 0,statementsPerSecond:a(s,"magistrate_statements_total"),errorsPerSecond:a(c,te),refusedPerSecond:a(s,"magistrate_requests_shed_total"),cachedEntries:H(n.samples,"magistrate_graph_entries"),running:H(n.samples,"magistrate_requests_running"),waiting:H(n.samples,"magistrate_requests_waiting"),routes:h.sort((p,u)=>u.total-p.total||(p.route<u.route?-1:1))}}const te="magistrate_requests_total";function Pt(t){const n=new Map;for(const r of t){const s=wo(r),a=n.get(s);a?a.push(r):n.set(s,[r])}return n}function wo(t){return`${t.labels.method??""} ${t.labels.route||"other paths"}`}function H(t,n){return t.reduce((r,s)=>s.name===n?r+s.value:r,0)}function yo(t,n){const r=a=>a.name+JSON.stringify(a.labels),s=new Map(t.samples.map(a=>[r(a),a.value]));return n.samples.map(a=>({...a,value:Math.max(a.value-(s.get(r(a))??0),0)}))}function Ft(t){const n=new Map;for(const o of t){if(o.name!=="magistrate_request_seconds_bucket")continue;const i=o.labels.le==="+Inf"?1/0:Number(o.labels.le);n.set(i,(n.get(i)??0)+o.value)}const r=[...n].sort(([o],[i])=>o-i),s=r.at(-1)?.[1]??0;if(s===0)return{};const a=o=>(r.find(([,i])=>i>=s*o)?.[0]??1/0)*1e3;return{p50Ms:a(.5),p99Ms:a(.99)}}const ko=2e3,En=60,jo=50;function To(){const[t,n]=m([]),[r,s]=m(),[a,o]=m(!1);if(W(()=>{if(a||r)return;const c=new AbortController;let l,d;const h=()=>{xo(c.signal).then(p=>{if(c.signal.aborted)return;const u=go(l,p);n(f=>[...f.filter(Bt),u].slice(-En)),l=p,d=setTimeout(h,ko)},p=>{if(!c.signal.aborted){if(!(p instanceof w))throw p;s(p)}})};return h(),()=>{c.abort(),clearTimeout(d)}},[a,r]),r)return e(T,{fault:r,retry:()=>s(void 0)});const i=t.at(-1);return i?e(g,{children:[e("div",{class:"actions",children:[e("button",{type:"button",class:"quiet","aria-pressed":a,onClick:()=>o(!a),children:a?"Continue":"Pause"}),e("span",{class:"hint",role:"status",children:Bt(i)?"Every two seconds, for all workers. The requests of this page count, too.":"Since the service was started, for all workers. What happens now follows in two seconds."})]}),e("dl",{class:"figures",children:[e(V,{title:"Requests a second",value:ge(i.perSecond),points:t.map(c=>c.perSecond??0),children:[i.total.toLocaleString()," in all"]}),e(V,{title:"p50",value:Me(i.p50Ms),points:t.map(c=>c.p50Ms??0)}),e(V,{title:"p99",value:Me(i.p99Ms),points:t.map(c=>c.p99Ms??0)}),e(V,{title:"Checks from the cache alone",value:i.cacheHits===void 0?"no checks":`${Math.round(i.cacheHits*100)} %`,points:t.map(c=>c.cacheHits??0)}),e(V,{title:"Entries in the cache",value:i.cachedEntries.toLocaleString()}),e(V,{title:"Statements a second",value:ge(i.statementsPerSecond)}),e(V,{title:"Errors (5xx) a second",value:ge(i.errorsPerSecond)}),e(V,{title:"Requests refused a second",value:ge(i.refusedPerSecond),children:[i.running," running, ",i.waiting," waiting"]})]}),e(So,{now:i})]}):e(O,{what:"Reading metrics"})}function Bt(t){return t.perSecond!==void 0}function V({title:t,value:n,points:r,children:s}){return e("div",{class:"card figure",children:[e("dt",{children:t}),e("dd",{children:n}),s&&e("dd",{class:"hint",children:s}),r&&e(Co,{points:r})]})}function Co({points:t}){const n=t.map(i=>Number.isFinite(i)?i:0),r=Math.max(...n,1e-9),s=120/(En-1),a=120-(n.length-1)*s,o=n.map((i,c)=>`${(a+c*s).toFixed(1)},${(27-25*i/r).toFixed(1)}`);return e("svg",{class:"line",viewBox:"0 0 120 28",preserveAspectRatio:"none","aria-hidden":"true",children:e("polyline",{points:o.join(" ")})})}function So({now:t}){return e(se,{label:"Routes",headings:["Route","Requests","A second","p50","p99"],children:t.routes.slice(0,jo).map(n=>e("tr",{children:[e("td",{class:"name",children:n.route}),e("td",{children:n.total.toLocaleString()}),e("td",{children:ge(n.perSecond)}),e("td",{children:Me(n.p50Ms)}),e("td",{children:Me(n.p99Ms)})]},n.route))})}async function xo(t){const n=await(await K("metrics",{accept:"text/plain",signal:t})).text();return vo(n,performance.now()/1e3)}function ge(t){return t===void 0?"–":t>=100?String(Math.round(t)):t.toFixed(1)}function Me(t){return t===void 0?"–":Number.isFinite(t)?`${Number(t.toPrecision(3))} ms`:"more than 10 s"}const Oo={900:"15 minutes",3600:"an hour",86400:"a day"};function Ro(){const[t,n]=m(""),[r,s]=m("3600"),[a,o]=m(),[i,c]=m();async function l(d){d.preventDefault(),c(void 0);try{const h={type:"sess",userId:t.trim(),ttl:Number(r)},{token:p}=await E("v2/sessions",{body:h});o({user:t.trim(),token:p})}catch(h){if(!(h instanceof w))throw h;c(h)}}return e(g,{children:[a&&e(it,{what:`A session of user:${a.user}`,text:a.token,onClose:()=>o(void 0)}),i&&e(T,{fault:i}),e("form",{class:"card",onSubmit:l,onInput:()=>c(void 0),children:[e("h2",{children:"New session"}),e("p",{children:["A session is a token with which a user checks their own access, from a browser or an app: it is sent as"," ",e("code",{children:"Authorization: Bearer"}),". The service does not list sessions; ",e("code",{children:"magistrate sessions revoke"})," ends all of them."]}),e("div",{class:"filters",children:[e("div",{class:"field",children:[e("label",{for:"session-user",children:"User"}),e("input",{id:"session-user",type:"text",required:!0,placeholder:"kim",value:t,onInput:d=>n(d.currentTarget.value)})]}),e("div",{class:"field",children:[e("label",{for:"session-length",children:"Valid for"}),e("select",{id:"session-length",value:r,onChange:d=>s(d.currentTarget.value),children:Object.entries(Oo).map(([d,h])=>e("option",{value:d,children:h},d))})]}),e("button",{type:"submit",class:"primary",children:"Create"})]})]})]})}const Ao=[{name:"url",label:"URL",placeholder:"https://receiver.example/changes"},{name:"description",label:"Description"}],Eo=[{name:"objectType",label:"Object types",placeholder:"document, folder",hint:"Separate names by commas; none: all."},{name:"relation",label:"Relations",placeholder:"viewer"},{name:"subjectType",label:"Types of subjects",placeholder:"user"}],$o=[{name:"of",label:"Access",placeholder:"document#viewer@user",hint:"Separate patterns by commas."}];function $n({fields:t,isOfAccess:n,onChange:r}){return e(g,{children:[...Ao,...n?$o:Eo].map(({name:s,label:a,placeholder:o,hint:i})=>e("div",{class:"field",children:[e("label",{for:`webhook-${s}`,children:a}),e("input",{id:`webhook-${s}`,type:"text",inputMode:s==="url"?"url":void 0,spellcheck:!1,required:s==="url"||s==="of",maxLength:s==="description"?1e3:void 0,placeholder:o,"aria-describedby":i&&`webhook-${s}-hint`,value:t[s],onInput:c=>r({...t,[s]:c.currentTarget.value})}),i&&e("span",{class:"hint",id:`webhook-${s}-hint`,children:i})]},s))})}const Io={enabled:["yes","Enabled"],disabled:["unknown","Disabled"],gone:["no","Gone"],dead:["no","Dead"]};function In({webhook:t}){const{state:n,reason:r,attempts:s,nextAttemptAt:a}=t,[o,i]=n==="enabled"&&s?["unknown","Retrying"]:Io[n];return e(g,{children:[e(J,{tone:o,children:i}),s!==void 0&&n==="enabled"&&e("div",{class:"hint",children:[s===1?"An attempt":`${s} attempts`," failed",a&&`; the next one is at ${Ht(a)}`]}),r&&e("div",{class:"hint",children:r})]})}const Nn=[["of","access"],["objectType","type"],["relation","relation"],["subjectType","type of subject"]];function Q(t,n=""){return`v2/webhooks/${encodeURIComponent(t)}${n&&`/${n}`}`}function Mn(t){return Nn.flatMap(([r,s])=>{const a=t[r];return a?[`${s} ${a.join(" or ")}`]:[]}).join(", ")||"all changes"}function Ze(t){const n=r=>r?.join(", ")??"";return{url:t?.url??"",description:t?.description??"",of:n(t?.of),objectType:n(t?.objectType),relation:n(t?.relation),subjectType:n(t?.subjectType)}}function qn(t){const n={url:t.url.trim(),description:t.description.trim()||null};for(const[r]of Nn)n[r]=No(t[r]);return n}function No(t){const n=t.split(/[\s,]+/).filter(Boolean);return n.length>0?n:null}const ne={scope:"webhooks"},Mo=25;function qo({id:t,onIssue:n}){const[r,s]=m(),[a,o]=m(),[i,c]=m(),[l,d]=m(!1),h=R(L=>_o(t,L),[t]);async function p(L){d(!0),c(void 0),o(void 0);try{o(await L())}catch(q){if(!(q instanceof w))throw q;c(q)}d(!1),h.reload()}function u(L){c(void 0),o(L),h.reload()}if(h.fault)return e(T,{fault:h.fault,retry:h.reload});if(!h.value)return e(O,{what:"Reading the webhook"});const{webhook:f,deliveries:v}=h.value,b={webhook:f,onDone:u,onClose:()=>s(void 0)},k=f.enabled;return e(g,{children:[e(Do,{webhook:f}),e("div",{class:"actions",children:[e(I,{needs:ne,class:"quiet",disabled:l,onClick:()=>p(()=>Lo(t)),children:"Send a test"}),e(I,{needs:ne,class:"quiet",disabled:l,onClick:()=>p(()=>Wo(t,!k)),children:k?"Disable":"Enable"}),e(I,{needs:ne,class:"quiet",onClick:()=>s("edit"),children:"Edit…"}),e(I,{needs:ne,class:"quiet",onClick:()=>s("rotate"),children:"Rotate the secret…"}),e(I,{needs:ne,class:"quiet",onClick:()=>s({since:""}),children:"Replay…"}),e(I,{needs:ne,class:"quiet",onClick:()=>s("delete"),children:"Delete…"})]}),i&&e(T,{fault:i}),a&&e(Z,{children:e("p",{children:a})}),e(Po,{deliveries:v,isLoading:h.isLoading,onReload:h.reload,onReplay:s}),r==="edit"&&e(Fo,{...b}),r==="rotate"&&e(Bo,{...b,onIssue:n}),r==="delete"&&e(Go,{...b}),typeof r=="object"&&e(Uo,{...b,since:r.since})]})}async function _o(t,n){const[r,s]=await Promise.all([A(Q(t),{signal:n}),A(Q(t,"deliveries"),{signal:n})]);return{webhook:r,deliveries:s.results}}async function Lo(t){return e(_n,{delivery:await E(Q(t,"test"),{method:"POST"})})}async function Wo(t,n){return await E(Q(t),{method:"PATCH",body:{enabled:n}}),n?"Enabled. It goes on with the first change that it has not got.":"Disabled. What changes meanwhile is sent when it is enabled again."}function Do({webhook:t}){return e("section",{class:"card","aria-label":"Webhook",children:[e("h2",{class:"name",children:t.url}),t.description&&e("p",{children:t.description}),e("dl",{class:"meta-list",children:[e(ie,{name:"State",children:e(In,{webhook:t})}),e(ie,{name:"Gets",children:Mn(t)}),e(ie,{name:"Created",children:[e(_,{time:t.createdAt})," by ",t.createdBy]}),e(ie,{name:"Has everything up to",children:e("a",{href:C("data",{at:t.token}),children:"this write"})}),t.previousUntil&&e(ie,{name:"The secret before signs, too, until",children:e(_,{time:t.previousUntil})}),t.skipped&&e(ie,{name:"Skipped, because they were not kept",children:["changes until ",e(_,{time:t.skipped.time}),", after ",e("a",{href:C("data",{at:t.skipped.after}),children:"this write"})]})]}),e("p",{children:e("a",{href:C("service",{show:"webhooks"}),children:"All webhooks"})})]})}function ie({name:t,children:n}){return e("div",{children:[e("dt",{children:t}),e("dd",{children:n})]})}function Po({deliveries:t,isLoading:n,onReload:r,onReplay:s}){return e(g,{children:[e("div",{class:"heading",children:[e("h2",{children:"Deliveries"}),e("button",{type:"button",class:"quiet","aria-disabled":n,onClick:r,children:"Read again"})]}),t.length===0?e(M,{title:"Nothing was sent yet.",children:e("p",{children:"The last 100 attempts are listed here. Send a test to see whether the receiver answers."})}):e(se,{label:"Deliveries",headings:["Time","Result","Took","Attempt","Message"],hasActions:!0,children:t.map(a=>e("tr",{children:[e("td",{class:"time",children:re(a.time)}),e("td",{children:e(_n,{delivery:a})}),e("td",{class:"time",children:[Math.round(a.duration)," ms"]}),e("td",{children:a.attempt}),e("td",{children:e("code",{children:a.id})}),e("td",{class:"row-actions",children:e(I,{needs:ne,class:"quiet",onClick:()=>s({since:a.tokens[0]??""}),children:["Replay after this…",e("span",{class:"sr",children:[" ",a.id]})]})})]},a.time+a.id))})]})}function _n({delivery:{status:t,error:n}}){return e(g,{children:[e(J,{tone:n?"no":"yes",children:n?"Failed":"Delivered"})," ",n??(t!==void 0&&`The receiver answered ${t}.`)]})}function Fo({webhook:t,onDone:n,onClose:r}){const[s,a]=m(Ze(t));async function o(){await E(Q(t.id),{method:"PATCH",body:qn(s)}),n("Saved.")}return e($,{title:"Edit the webhook",action:"Save",onConfirm:o,onClose:r,children:e($n,{fields:s,isOfAccess:t.of!==void 0,onChange:a})})}function Bo({webhook:t,onDone:n,onClose:r,onIssue:s}){async function a(){s(await E(Q(t.id,"rotate"),{body:{}})),n("Rotated the secret.")}return e($,{title:"Replace the secret?",action:"Rotate",onConfirm:a,onClose:r,children:e("p",{children:"For 24 hours, messages are signed with both secrets, so that the receiver can change over."})})}function Go({webhook:t,onClose:n}){async function r(){await E(Q(t.id),{method:"DELETE"}),j("service",{show:"webhooks"})}return e($,{title:"Delete the webhook?",action:"Delete",isDangerous:!0,onConfirm:r,onClose:n,children:e("p",{children:["Nothing is sent to ",e("span",{class:"name",children:t.url})," any more. This cannot be undone."]})})}function Uo({webhook:t,since:n,onDone:r,onClose:s}){const[a,o]=m(n),i=nr(zo,[]);async function c(){await E(Q(t.id,"replay"),{body:{since:a.trim()}}),r("Everything after that write is sent again.")}return e($,{title:"Send changes again",action:"Replay",onConfirm:c,onClose:s,children:e(F,{label:"After the write",value:a,placeholder:"token of a write",complete:i,onInput:o,isRequired:!0,hint:"Everything that was written after it is sent again, in order. Choose the first change to send, or give a token."})})}function zo(){let t;return async n=>je({scope:"events"})?[]:(t??=Ho(),(await t).filter(({value:r,label:s})=>`${r} ${s}`.includes(n)))}async function Ho(){const{revisions:t}=await Qt(void 0).readMore(Mo,new AbortController().signal);return t.flatMap(n=>n.before===void 0?[]:[{value:n.before,label:rr(n),hint:re(n.createdAt)}])}const Jo=50;function Ko(){const{id:t}=x.value.parameters,[n,r]=m(),s=n!==void 0&&n.id===t;return e(g,{children:[s&&e(it,{what:"The secret that signs",text:n.secret,onClose:()=>r(void 0)}),t===void 0?e(Vo,{onIssue:r}):e(qo,{id:t,onIssue:r},t)]})}function Vo({onIssue:t}){const{next:n,prev:r}=x.value.parameters,[s,a]=m(!1),o=R(i=>A("v2/webhooks",{query:{limit:Jo,nextCursor:n,prevCursor:r},signal:i}),[n,r]);return o.fault?e(T,{fault:o.fault,retry:o.reload}):o.value?e(g,{children:[e("div",{class:"actions",children:e(I,{needs:{scope:"webhooks"},class:"primary",onClick:()=>a(!0),children:[e(he,{name:"plus"}),"New webhook"]})}),o.value.results.length===0?e(M,{title:"There are no webhooks.",children:e("p",{children:"A webhook is a URL to which changes are sent as they are made, signed and in order: for caches, search indexes and audit systems that have to react."})}):e(Yo,{webhooks:o.value.results}),e(pe,{page:o.value}),s&&e(Qo,{onIssue:t,onClose:()=>a(!1)})]}):e(O,{what:"Reading webhooks"})}function Yo({webhooks:t}){return e(se,{label:"Webhooks",headings:["URL","Gets","State","Created"],children:t.map(n=>e("tr",{children:[e("td",{children:[e("a",{class:"name",href:C("service",{show:"webhooks",id:n.id}),children:n.url}),n.description&&e("div",{class:"hint",children:n.description})]}),e("td",{children:Mn(n)}),e("td",{children:e(In,{webhook:n})}),e("td",{class:"time",children:[e(_,{time:n.createdAt})," by ",n.createdBy]})]},n.id))})}function Qo({onIssue:t,onClose:n}){const[r,s]=m(Ze()),[a,o]=m(""),[i,c]=m(!1);function l(h){c(h),s({...Ze(),url:r.url,description:r.description})}async function d(){const h={...qn(r),secret:a.trim()||void 0},p=await E("v2/webhooks",{body:h});t(p),j("service",{show:"webhooks",id:p.id})}return e($,{title:"New webhook",action:"Create",onConfirm:d,onClose:n,children:[e("div",{class:"field",children:[e("label",{for:"webhook-gets",children:"Gets"}),e("select",{id:"webhook-gets",value:String(i),onChange:h=>l(h.currentTarget.value==="true"),children:[e("option",{value:"false",children:"what is written"}),e("option",{value:"true",children:"access that is gained and lost"})]})]}),e($n,{fields:r,isOfAccess:i,onChange:s}),e("details",{children:[e("summary",{children:"Secret"}),e("div",{class:"field",children:[e("label",{for:"webhook-secret",children:"A secret that signs"}),e("input",{id:"webhook-secret",type:"password",autocomplete:"off",spellcheck:!1,placeholder:"whsec_…",value:a,onInput:h=>o(h.currentTarget.value)}),e("span",{class:"hint",children:"Leave it empty to have one generated, which is shown once."})]})]})]})}const Je={keys:{title:"Keys",body:An,needs:{scope:"keys",ofAllTypes:!0}},sessions:{title:"Sessions",body:Ro,needs:{scope:"check",ofAllTypes:!0}},webhooks:{title:"Webhooks",body:Ko,needs:{scope:"webhooks",ofAllTypes:!0}},metrics:{title:"Metrics",body:To,needs:{scope:"metrics"}}};function Zo(){const{show:t="keys"}=x.value.parameters,n=t in Je?t:"keys",{body:r=An,needs:s}=Je[n]??{};return e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:"Service"}),e("nav",{class:"tabs","aria-label":"Parts of the service",children:Object.entries(Je).map(([a,{title:o}])=>e("a",{href:C("service",{show:a}),"aria-current":a===n?"page":void 0,children:o},a))})]}),e(Xt,{needs:s,children:e(r,{})},n)]})}const Xo=300,ei=4194304;function ti(){const t=we.value;return e("div",{children:[e("div",{class:"heading",children:[e("h1",{children:"Tests"}),e(ni,{text:t})]}),t?e(ri,{text:t}):e(ii,{})]})}function ni({text:t}){const[n,r]=m(),[s,a]=m(""),[o,i]=m(!1),c=D(null);async function l(u){r(void 0),a("");try{a(await u())}catch(f){if(!(f instanceof w))throw f;r(f)}}async function d(){return Ne("model.test.yaml","application/yaml",await dr(t)),"Saved. The command magistrate model test runs this file."}async function h(){const u=await hr(t);Ne("playground.test.yaml","application/yaml",u.text);const f=u.isCut?`; a file has ${ur} at most, so the others are missing`:"";return`Saved with ${u.warrants} warrants${f}. The command magistrate playground opens this file.`}async function p(u){if(!u)return"";if(u.size>ei)throw new w(400,"invalid","The file is larger than 4 MiB");return we.value=await u.text(),`Opened ${u.name}.`}return e(g,{children:[e("div",{class:"actions",children:[e("input",{ref:c,type:"file",class:"sr",tabIndex:-1,"aria-label":"Test file",accept:".yaml,.yml,.json",onChange:u=>{const f=u.currentTarget;l(()=>p(f.files?.[0])).then(()=>f.value="")}}),e("button",{type:"button",class:"quiet",onClick:()=>c.current?.click(),children:"Open a file…"}),t&&e(g,{children:[e("button",{type:"button",class:"quiet",onClick:()=>l(d),children:"Download"}),e("button",{type:"button",class:"quiet",onClick:()=>i(!0),children:"Clear…"})]}),e("button",{type:"button",class:"quiet",onClick:()=>l(h),children:"Download with all warrants"})]}),e("p",{class:"hint",role:"status",children:s}),n&&e(T,{fault:n}),o&&e($,{title:"Remove all tests?",action:"Remove",isDangerous:!0,onConfirm:()=>(we.value="",Promise.resolve()),onClose:()=>i(!1),children:e("p",{children:"They are in this tab alone. Download them first if you need them again."})})]})}function ri({text:t}){const[n,r]=m(t);W(()=>{const a=setTimeout(()=>r(t),Xo);return()=>clearTimeout(a)},[t]);const s=R(a=>A("v2/model/test",{text:n,signal:a}),[n]);return e("div",{class:"tests",children:[e("div",{class:"field",children:[e("label",{for:"tests",children:"Test file"}),e("textarea",{id:"tests",class:"code",rows:24,wrap:"off",spellcheck:!1,value:t,onInput:a=>we.value=a.currentTarget.value}),e("span",{class:"hint",children:["Without ",e("code",{children:"model"}),", the model of the service is tested. Stored warrants do not count, only those under"," ",e("code",{children:"setup"}),". The file is kept in this tab until you close it or sign out."]})]}),e("section",{class:"card results","aria-label":"Results","aria-live":"polite","aria-busy":s.isLoading,children:[s.fault&&e(T,{fault:s.fault,retry:s.reload}),!s.value&&!s.fault&&e(O,{what:"Running the tests"}),s.value&&e(ai,{run:s.value})]})]})}function ai({run:t}){if(t.results.length===0)return e("p",{children:"There are no tests in the file yet."});const n=t.results.filter(s=>!s.passed),r=t.results.filter(s=>s.passed);return e(g,{children:[e("p",{class:"sentence-line",children:[e(J,{tone:t.failed?"no":"yes",children:t.failed?"Failed":"Passed"})," ",e("b",{children:[t.passed," passed, ",t.failed," failed"]})]}),n.length>0&&e(Gt,{results:n}),r.length>0&&e("details",{children:[e("summary",{children:"What passed"}),e(Gt,{results:r})]})]})}function Gt({results:t}){return e("ul",{class:"test-list",children:t.map((n,r)=>e(si,{result:n},r))})}function si({result:t}){const{name:n,passed:r,failure:s,explanation:a}=t;return e("li",{children:[e(J,{tone:r?"yes":"no",children:r?"Passed":"Failed"})," ",e("span",{class:"name",children:n}),s&&e("p",{class:"failure",children:s}),a&&e(oi,{explanation:a})]})}function oi({explanation:t}){const n=t.decision==="allowed",r=t.wouldAllow?.[0],s=qe(t.check);return e("details",{children:[e("summary",{children:["Why it is ",t.decision]}),n&&e(ar,{links:sr(t.path??[]),label:"What allows it"}),!n&&or(t).map((a,o)=>e("p",{children:a.sentence},o)),r&&e(g,{children:[e("p",{class:"hint",children:"This would allow it:"}),e("ul",{class:"changes",children:ir(r).map(a=>e("li",{children:[e("span",{class:`verb ${a.verb}`,children:a.verb})," ",e("code",{children:a.what})]},a.verb+a.what))}),e("p",{class:"hint effects",children:cr(r)})]}),e("details",{children:[e("summary",{children:"Every step"}),e(lr,{root:t.because})]}),s&&e("p",{children:e("a",{href:C("why",{subject:Le(s.subject),relation:s.relation,object:y(s)}),children:"The same check of what is stored"})})]})}function ii(){const t=ue.value?.find(s=>Object.keys(s.relations).length>0),n=t&&Object.keys(t.relations).at(-1),r=()=>{const s=JSON.stringify(`${t?.type??"document"}:example#${n??"viewer"}@user:nobody`);we.value=`setup:
  warrants: []
tests:
  - {name: somebody else, check: ${s}, expect: false}
`};return e(M,{title:"There are no tests yet.",children:[e("p",{children:["A test is a check with the answer that you expect. ",e("a",{href:C("why"),children:"Explain a check"})," or"," ",e("a",{href:C("queries"),children:"run a query"}),", and pin what must stay as it is: each pinned check comes with the warrants that it depends on. The tests are run at each change of the file, with the current model."]}),e("p",{children:e("button",{type:"button",class:"primary",onClick:r,children:"Start with an example"})})]})}const ci=8,li=40,di=[{name:"Why",hint:"explain a check",run:()=>j("why")},{name:"Objects",hint:"page",run:()=>j("data")},{name:"Warrants",hint:"page",run:()=>j("data",{show:"warrants"})},{name:"Queries",hint:"page",run:()=>j("queries"),needs:{scope:"query"}},{name:"History",hint:"page",run:()=>j("history"),needs:{scope:"events"}},{name:"Live",hint:"changes as they are made",run:()=>j("live"),needs:{scope:"events"}},{name:"Model",hint:"page",run:()=>j("model"),needs:{scope:"read",ofAllTypes:!0}},{name:"Tests",hint:"page",run:()=>j("tests"),needs:{scope:"read",ofAllTypes:!0}},{name:"Keys",hint:"page of the service",run:()=>j("service")},{name:"Sessions",hint:"page of the service",run:()=>j("service",{show:"sessions"})},{name:"Webhooks",hint:"page of the service",run:()=>j("service",{show:"webhooks"})},{name:"Metrics",hint:"page of the service",run:()=>j("service",{show:"metrics"})}],hi=[{name:"New warrant",hint:"action",run:()=>j("data",{show:"warrants",open:"warrant"}),needs:{scope:"write"},isChange:!0},{name:"New object",hint:"action",run:()=>j("data",{open:"object"}),needs:{scope:"write"},isChange:!0},{name:"Import a file",hint:"action",run:()=>j("data",{open:"file"}),needs:{scope:"write"},isChange:!0},{name:"Change the colours",hint:"action",run:pr},{name:"Sign out",hint:"action",run:()=>mr()}];async function ui(t,n){const r=t.trim(),s=pi(r),a=mi(r),o=r?fi(r):[],i=r?await bi(r,n):[],c=new Set(i.map(l=>l.name));return[...a.filter(l=>!c.has(l.name)),...i,...s,...o].slice(0,li)}function pi(t){const n=t.toLowerCase();return[...di,...hi].filter(({needs:a,isChange:o})=>(!a||!je(a))&&!(o&&B.value!==void 0)).filter(({name:a})=>a.toLowerCase().includes(n)).toSorted((a,o)=>Number(o.name.toLowerCase().startsWith(n))-Number(a.name.toLowerCase().startsWith(n)))}function mi(t){const n=qe(t);if(n){const{subject:s,relation:a}=n;return[{name:t,hint:"explain this check",run:()=>j("why",{subject:Le(s),relation:a,object:y(n)})}]}if(/^select\s/i.test(t)&&!je({scope:"query"}))return[{name:t,hint:"run this query",run:()=>j("queries",{q:t})}];const r=Y(t);return r?[{name:y(r),hint:"object or subject",run:()=>j("object",{name:y(r)})}]:[]}function fi(t){return je({scope:"read",ofAllTypes:!0})?[]:(ue.value??[]).flatMap(({type:r,relations:s})=>[r,...Object.keys(s).map(a=>`${r}#${a}`)]).filter(r=>r.includes(t)).toSorted((r,s)=>Number(s.startsWith(t))-Number(r.startsWith(t))).map(r=>({name:r,hint:"in the model",run:()=>j("model",{of:r})}))}async function bi(t,n){const r=t.indexOf(":"),a={objectType:r>=0?t.slice(0,r):N.value?.[0],q:r>=0?t.slice(r+1):t,limit:ci,asOf:B.value},{results:o}=await A("v2/objects",{query:a,signal:n});return o.map(i=>{const c=y(i);return{name:c,hint:Vt(i.meta)??"object or subject",run:()=>j("object",{name:c})}})}const vi=100;function gi(){return en.value==="shortcuts"?e(yi,{}):e(wi,{})}function Ln(){const t=D(null);return W(()=>t.current?.showModal(),[]),t}function Wn(){en.value=void 0}function wi(){const t=Ln(),[n,r]=m(""),[s,a]=m([]),[o,i]=m(0),c=D(null);W(()=>{const h=new AbortController,p=setTimeout(()=>{ui(n,h.signal).then(u=>{h.signal.aborted||(a(u),i(0))},u=>{if(!h.signal.aborted&&(a([]),!(u instanceof w)))throw u})},n?vi:0);return()=>{clearTimeout(p),h.abort()}},[n]),W(()=>{c.current?.children[o]?.scrollIntoView({block:"nearest"})},[o]);function l(h){h&&(t.current?.close(),h.run())}function d(h){const u={ArrowDown:1,ArrowUp:-1}[h.key];u!==void 0&&s.length>0?(h.preventDefault(),i((o+u+s.length)%s.length)):h.key==="Enter"&&(h.preventDefault(),l(s[o]))}return e("dialog",{ref:t,class:"palette","aria-label":"Go to or do",onClose:Wn,children:[e("input",{type:"text",class:"code",role:"combobox","aria-label":"Go to or do","aria-expanded":s.length>0,"aria-controls":"commands","aria-activedescendant":s.length>0?`command-${o}`:void 0,autocomplete:"off",autocapitalize:"off",spellcheck:!1,placeholder:"an object, a page, a check, a query or an action",value:n,onInput:h=>r(h.currentTarget.value),onKeyDown:d}),e("ul",{class:"options",id:"commands",role:"listbox","aria-label":"Found",ref:c,children:s.map((h,p)=>e("li",{id:`command-${p}`,role:"option","aria-selected":p===o,onClick:()=>l(h),children:[e("span",{class:"name",children:h.name}),e("span",{class:"hint",children:h.hint})]},h.name+h.hint))}),s.length===0&&e("p",{class:"hint",children:"Nothing is called that."})]})}function yi(){const t=Ln();return e("dialog",{ref:t,class:"palette","aria-labelledby":"shortcuts-title",onClose:Wn,children:[e("h2",{id:"shortcuts-title",children:"Shortcuts"}),e("dl",{class:"shortcuts",children:fr.map(([n,r])=>e("div",{children:[e("dt",{children:n.split(" ").map(s=>e("kbd",{children:s},s))}),e("dd",{children:r})]},n))}),e("div",{class:"actions",children:e("button",{type:"button",class:"quiet",onClick:()=>t.current?.close(),children:"Close"})})]})}const ji=Object.freeze(Object.defineProperty({__proto__:null,DataPage:Qr,HistoryPage:Ha,LivePage:hs,ModelPage:Ss,ObjectPage:Bs,Palette:gi,QueriesPage:so,ServicePage:Zo,TestsPage:ti,loadExample:Rr},Symbol.toStringTag,{value:"Module"}));export{ji as p,Ne as s};
