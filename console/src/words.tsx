/**
 * Has every text of the interface, by page: the one place where its words are written. A text about something is a
 * function of it. Markup within a sentence stands with the sentence; a link takes its URL, and what is drawn elsewhere,
 * such as a time or a name, is given.
 */

import type { ComponentChildren as Children } from "preact";

function format(number: number): string {
  return number.toLocaleString("en");
}

function were(number: number): string {
  return `${format(number)} ${number === 1 ? "was" : "were"}`;
}

/** Returns a number with its noun: `1 warrant`, `2 warrants`. */
function count(number: number, noun: string): string {
  return `${format(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export const pages = {
  why: "Why",
  data: "Data",
  objects: "Objects",
  warrants: "Warrants",
  queries: "Queries",
  history: "History",
  pastChanges: "Past changes",
  live: "Live",
  model: "Model",
  tests: "Tests",
  service: "Service",
  partsOfService: "Parts of the service",
  object: "Object",
  keys: "Keys",
  ownKey: "Your key",
  sessions: "Sessions",
  webhooks: "Webhooks",
  integrations: "Integrations",
  metrics: "Metrics",
};

export const terms = {
  subject: "Subject",
  relation: "Relation",
  object: "Object",
  type: "Type",
  objectTypes: "Object types",
  relations: "Relations",
  subjectTypes: "Types of subjects",
  action: "Action",
  access: "Access",
  id: "Id",
  name: "Name",
  meta: "Meta",
  query: "Query",
  condition: "Condition",
  state: "State",
  created: "Created",
  expiresAt: "Expires at",
  contains: "Contains",
  all: "all",
  any: "any",
  never: "never",
  unknown: "unknown",
  byWarrant: "by warrant",
  byRules: "by rules",
  by: (time: Children, name: Children) => <>{time} by {name}</>,
  kindOfType: "object type",
  kindOfPolicy: "policy",
};

export const verbs = {
  create: "create",
  delete: "delete",
  change: "change",
  move: "move",
  send: "send",
  created: "created",
  updated: "updated",
  deleted: "deleted",
  expired: "expired",
  gained: "gained",
  lost: "lost",
};

export const actions = {
  create: "Create",
  save: "Save",
  delete: "Delete",
  import: "Import",
  rename: "Rename",
  revert: "Revert",
  rotate: "Rotate",
  revoke: "Revoke",
  remove: "Remove",
  filter: "Filter",
  copy: "Copy",
  clear: "Clear",
  download: "Download",
  pause: "Pause",
  continue: "Continue",
  tryAgain: "Try again",
  showMore: "Show more",
  cancel: "Cancel",
  close: "Close",
  exportJson: "Export JSON",
  exportCsv: (table: string) => <>Export CSV<span class="sr"> of {table}</span></>,
  readingRows: "Reading all rows…",
  savedRows: (rows: number, isCut: boolean) =>
    isCut ? `Saved the first ${format(rows)} rows: an export has no more.` : `Saved ${count(rows, "row")}.`,
  copied: "Copied.",
};

export const examples = {
  subject: "user:kim",
  relation: "viewer",
  object: "document:roadmap",
  type: "document",
  id: "roadmap",
  userset: "document#viewer",
  access: "document#viewer@user",
  context: '{"network": "office"}',
  meta: '{"name": "Roadmap"}',
  policy: 'network == "office"',
  subjectType: "user",
};

export const shell = {
  notFound: "Not found",
  product: "Magistrate",
  skip: "Skip to the content",
  pages: "Pages of the console",
  goTo: "Go to or do",
  goToByKeys: "Go to or do (Ctrl K)",
  keysOfGoTo: "Ctrl K",
  system: "System",
  light: "Light",
  dark: "Dark",
  changeColours: "Change the colours",
  colours: (scheme: string) => `Colours: ${scheme}`,
  signOut: "Sign out",
  signingIn: "Signing in",
  loadingPage: "Loading the page",
  noPage: "There is no such page.",
  noPageAdvice: (why: string) => <>Go to <a href={why}>why somebody may or may not do something</a>.</>,
};

export const signIn = {
  title: "Sign in",
  purpose: "See who may do what on this service, understand why, and change it safely.",
  key: "API key",
  isBusy: "Signing in…",
  advice: (
    <>
      The service printed a key when it first started. A key with the
      scopes <code>read</code>, <code>query</code> and <code>events</code> shows everything and changes nothing:
    </>
  ),
  keyStays: "The key stays in this tab and is discarded when you close it.",
  notAKey: "This is not an API key: it has blanks or characters that no key has.",
  linkIsUseless: (message: string) => `The key of the link is of no use: ${message}`,
  isKeyOver: "The key is not valid any more. Sign in again.",
  readsWithKey: (message: string) => `The console reads with your key: ${message}.`,
};

export const refusals = {
  noAnswer: "The service did not answer",
  answered: (status: number) => `The service answered ${status}`,
  pageNotLoaded: "This page could not be loaded",
  checkService: "Check that the service is running and that you can reach it, then try again.",
  signInAgain: "Sign in with a key that this service knows and that has not expired.",
  useOtherKey: "Sign in with a key that has this scope, or get one from those who manage the keys.",
  checkSpelling: "Check the spelling, or choose one of the names that are suggested.",
  loadAgain: "Somebody else wrote in the meantime. Load the page again.",
  compareAgain: "Somebody else changed it in the meantime. Compare again, then save.",
  chooseLater: "Choose a later time, or go back to now.",
  narrow: "Narrow the request, or raise the budget of the service.",
  tryLater: "Try again in a moment. If it stays like this, look at the log of the service.",
  changeRequest: "Change what the message names, and try again.",
  source: "Where it is",
  contextNotAnObject: `The context is not a JSON object: write ${examples.context}`,
};

export const permissions = {
  lacksScope: (scope: string) => `Your key lacks the scope ${scope}`,
  isLimitedTo: (types: string) => `Your key is limited to ${types}`,
  past: "The past cannot be changed",
  changesNothing: ", so it changes nothing here.",
  concernsAll: "This page concerns all types. To see it, sign in with a key that is not limited.",
  needsScope: (name: Children, scopes: Children) => (
    <>
      This page needs it. Sign in with a key that has it, or get one from those who manage the keys.
      Yours, <span class="name">{name}</span>, has {scopes}; with one more it would be:
    </>
  ),
};

export const stores = {
  chooseOther: "Choose another store",
  prefix: "Store: ",
  title: "Store",
  holds: (name: string, objects: string, warrants: string) => `${name} holds ${objects} and ${warrants}.`,
  nameOf: "name of a store",
  open: "Open",
  usage: (number: number, what: "objects" | "warrants", limit: number | undefined) =>
    `${format(number)} ${what}${limit === undefined ? "" : ` of at most ${format(limit)}`}`,
};

export const time = {
  title: "Point in time",
  lookBack: "Look back in time",
  past: "Past",
  now: "Now",
  suffix: ": look back in time",
  atPast: (said: Children) => (
    <>
      You are looking at the past: as of {said}. <span class="hint">Nothing can be changed here.</span>
    </>
  ),
  atNow: "You are looking at now. Move the slider to look back.",
  earlier: "Earlier",
  slider: "Changes, from the oldest to now",
  later: "Later",
  nowSaid: "now",
  noList: (obstacle: Children) => <>{obstacle}, so there is no list of changes to choose from.</>,
  notRead: (message: Children) => <>The changes cannot be read: {message}.</>,
  backToNow: "Back to now",
  field: "Date and time to look at",
  aRevision: "a revision in the history",
};

export const palette = {
  placeholder: "an object, a page, a check, a query or an action",
  matches: "Found",
  nothing: "Nothing is called that.",
  shortcuts: "Shortcuts",
  explainACheck: "explain a check",
  live: "changes as they are made",
  servicePage: "page of the service",
  integrations: "APIs, gateways and agents",
  page: "page",
  action: "action",
  explainThisCheck: "explain this check",
  runThisQuery: "run this query",
  objectOrSubject: "object or subject",
  savedQuery: "saved query",
  inModel: "in the model",
};

export const shortcuts = {
  goTo: "Go to an object, a page or a query, or do something (⌘ K on a Mac)",
  showThese: "Show these shortcuts",
  keysToChoose: "↑ ↓ Enter",
  choose: "Choose from a list that completes a field",
  keyToClose: "Escape",
  close: "Close a list or a dialog",
  moveGraph: "Move the graph of the model that has the focus",
  zoomGraph: "Make that graph larger or smaller, or show all of it",
};

export const firstSteps = {
  title: "First steps",
  model: "A model",
  modelAdvice: (types: number, model: string) => (
    <>
      It has {count(types, "type")}. See or change them on the page <a href={model}>Model</a>.
    </>
  ),
  warrant: "A first warrant",
  warrantAdvice:
    "A warrant gives a subject a relation on an object, as in: user:kim is viewer of document:roadmap. It creates both.",
  writeWarrant: (write: string, file: string) => (
    <>
      <a href={write}>Write a warrant</a>, or <a href={file}>import a file</a> of them.
    </>
  ),
  check: "A first check",
  checkAdvice: "Choose a subject, a relation and an object above. The answer comes with its reason.",
  done: ": done",
  begin: (isUntouched: boolean) => (
    <>
      <strong>
        {isUntouched
          ? "This service has only the six types that it begins with, those of Warrant."
          : "This service has no model yet."}
      </strong>{" "}
      A model says which types of objects there are and what their relations mean. Begin with an example
      {isUntouched && ", which takes their place"}:
    </>
  ),
  ownModel: (model: string, file: string) => (
    <>
      Or <a href={model}>write a model</a> of your own, or <a href={file}>import one from OpenFGA or SpiceDB</a>.
    </>
  ),
  move: "Move from OpenFGA, SpiceDB or Warrant with all relationships",
  moveAdvice: "Whoever runs the service imports a model with its relationships, and sees what is translated, and how:",
  tryFile: "Or try a file with its tests, in memory:",
  choose: "Choose a subject, a relation and an object.",
  chooseAdvice:
    "The answer comes with its path: the warrants and rules that it follows from. A denial comes with the smallest changes that would allow it.",
  objectsOf: (type: Children) => <>Objects of type <b>{type}</b></>,
};

export const samples = {
  documents: "Shared documents",
  aboutDocuments: "Documents in folders, shared with people, groups and everyone, and kept from some.",
  tenants: "Tenants and roles",
  aboutTenants: "Two companies in one application, with roles that mean something only within one of them.",
  repositories: "Repositories",
  aboutRepositories: "Repositories of an organization, its nested teams, outside collaborators and protected branches.",
  agents: "Agents",
  aboutAgents: "Agents with tasks of their own, whose approvals start empty, and which delegate parts of them.",
  load: (title: Children) => <>Load the example<span class="sr"> {title}</span></>,
  notAllowed: (obstacle: Children, name: Children) => (
    <>
      {obstacle}. Whoever runs the service can load it: <code>magistrate serve --example {name}</code>
    </>
  ),
};

export const why = {
  title: "Why may somebody do something, or not?",
  exampleOfRelation: "can-read",
  explain: "Explain",
  context: "Context for policies",
  jsonObject: "JSON object",
  notASubject: (subject: string) => `Not a subject: ${subject}. Write type:id, as in user:kim`,
  notAnObject: (object: string) => `Not an object: ${object}. Write type:id, as in document:roadmap`,
  deciding: "Deciding",
  allowed: "Allowed",
  denied: "Denied",
  has: (subject: Children, has: boolean, relation: string, object: Children, context: string) => (
    <>
      {subject} {has ? "has" : "does not have"} <b>{relation}</b> on {object}{context && <> with <code>{context}</code></>}
    </>
  ),
  wasChanged: "The change was made. This is the answer now.",
  isLimited:
    "Your key is limited to object types, and an explanation names warrants of any type: it may learn the decision, not why.",
  together: "These warrants together allow it",
  whatAllows: "What allows it",
  path: "Path from the subject to the object",
  rulesAlone: "No warrant is needed: it follows from the rules of the relation alone.",
  whyNot: "Why not",
  met: "Met",
  missing: "Missing",
  excluded: "Excluded",
  unknown: "Unknown",
  moreBranches: (branches: number) =>
    `${branches} more ${branches === 1 ? "branch was" : "branches were"} tried and failed, too.`,
  otherBranches: (branches: number) => `${branches} other ${branches === 1 ? "branch" : "branches"} failed, too`,
  smallestChange: "The smallest change that would allow it",
  otherChanges: "Other changes that would allow it",
  anyChange: "Any one of these would allow it",
  showMore: (number: number) => <>Show {number} more</>,
  isCut: "The search was ended by its limit; there may be other changes.",
  noChange: "No single change would allow it",
  noChangeAdvice: (rules: string) => (
    <>
      Neither a warrant to the subject nor the deletion of one is enough. Look at <a href={rules}>the rules of the
      relation</a>.
    </>
  ),
  everyStep: "Every step",
  tryContext: "Try a context for policies",
  tryIt: "Try it",
};

export const paths = {
  step: (relation: string, preposition: string, isHeld: boolean) => (
    <>
      {isHeld ? "is" : "is not"} <b>{relation}</b> {preposition}
    </>
  ),
  hideSteps: (steps: number) => `Hide ${steps} steps`,
  showSteps: (steps: number) => `Show ${steps} more steps`,
};

export const steps = {
  yes: "yes",
  no: "no",
  isSelf: "the subject is the object itself",
  check: (subject: Children, relation: Children, object: Children) => (
    <>
      <span class="name">{subject}</span> <b>{relation}</b> on <span class="name">{object}</span>
    </>
  ),
  by: (warrant: Children) => <>by {warrant}</>,
  expiredAt: (time: Children) => <>expired at {time}</>,
  startsAt: (time: Children) => <>starts at {time}</>,
  isLoop: "depends on itself",
  cut: (number: number) => <>{number} more not shown</>,
};

export const explanation = {
  never: "No rule of this relation can hold here, and nobody is given it by a warrant.",
  doesNotHold: "it does not hold",
  isNotEvaluated: "it cannot be evaluated",
  ifPolicy: (policy: string) => `if ${policy}`,
  notSent: (name: string) => `${name} was not sent`,
  isValue: (name: string, value: string) => `${name} is ${value}`,
  isAsSent: (name: string) => `${name} is what was sent`,
  ifBut: (policy: string, reasons: string[]) => `if ${policy}, but ${reasons.join(" and ")}`,
  expiredAt: (time: string) => `expired at ${time}`,
  startsAt: (time: string) => `starts at ${time}`,
  asRequired: (sentence: string, relation: string) => `${sentence}, as ${relation} requires.`,
  rulesOut: (sentence: string, relation: string) => `${sentence}, which rules out ${relation}.`,
  isUnknown: (sentence: string, relation: string) => `It is unknown whether ${sentence}, which would rule out ${relation}.`,
  nothingLeads: ", and nothing that is written leads there.",
  closest: "; this is the closest it comes:",
  rule: (rule: string, isHeld: boolean) => `the rule ${rule} ${isHeld ? "holds" : "does not hold"}`,
  relation: (subject: string, isHeld: boolean, relation: string, object: string) =>
    `${subject} ${isHeld ? "is" : "is not"} ${relation} ${object}`,
};

export const suggestions = {
  whatElse: "What else would it change?",
  useContext: "Check with this context",
  make: "Make this change…",
  cannotMake: ", so it cannot make this change.",
  inOpenFga: (what: Children) => <> in OpenFGA: <code>{what}</code></>,
  title: "Make this change?",
  confirm: "Make the change",
  allows: (check: Children) => <>It allows <code>{check}</code>.</>,
};

export const effects = {
  onOthers: (lost: number, gained: number, isComplete: boolean) => {
    const least = isComplete ? "" : "at least ";
    const parts = [
      ...(lost ? [`lose ${least}${count(lost, "permission")}`] : []),
      ...(gained ? [`gain ${least}${count(gained, "permission")}`] : []),
    ];
    if (parts.length > 0) return `Others ${parts.join(" and ")}.`;
    return isComplete ? "It has no effect on others." : "Its effect on others is too large to be counted here.";
  },
  comparing: "Comparing access",
  title: (rows: number, hasMore: boolean, isBesides: boolean) =>
    `${isBesides ? "What else it changes" : "What it changes"} (${hasMore ? `more than ${format(rows)}` : format(rows)}):`,
  nothingElse: "It changes nothing else.",
  noAccess: "It changes no access.",
  row: (subject: Children, relation: string, object: Children, isConditional: boolean) => (
    <>
      {subject} <b>{relation}</b> on {object}{isConditional && <span class="hint"> if the context allows it</span>}
    </>
  ),
  nobody: "Nobody gained or lost access.",
};

export const pins = {
  isPinned: (check: Children) => <>In the tests<span class="sr"> {check}</span></>,
  pin: (check: Children) => <>Pin<span class="sr"> as a test {check}</span></>,
};

export const copyAs = {
  title: (forms: Children) => <>Copy as {forms}</>,
  command: "a command",
  request: "a request",
  key: "a key",
  rules: "rules",
  settings: "settings",
  notAllowed: "Your browser does not allow copying here: select the text.",
};

export const data = {
  kinds: "Kinds of data",
  importFile: "Import a file…",
  partOfObject: "a part of the id or the meta",
  order: "Order",
  ascending: (title: Children) => <>{title}, ascending</>,
  descending: (title: Children) => <>{title}, descending</>,
  readingObjects: "Reading objects",
  noObject: "No object has all of this.",
  noObjects: "There are no objects yet.",
  noModel: (model: string) => (
    <>
      First, a <a href={model}>model</a> says which types of objects there are. Write one, or start with an example:
      documents in folders, shared with people and groups.
    </>
  ),
  noObjectsAdvice:
    "A warrant creates the objects that it names. Start with a new warrant, or import a file of warrants and objects.",
  anyOf: (type: string) => `any ${type}`,
  readingWarrants: "Reading warrants",
  noWarrant: "No warrant has all of this.",
  noWarrants: "There are no warrants yet.",
  noWarrantAdvice: "Leave a field empty to see more. This lists what is written; what rules give is under Queries.",
  noWarrantsAdvice: "A warrant gives a subject a relation on an object, as in: user:kim is viewer of document:roadmap.",
  hideFilters: "Hide the filters",
  filters: (number: number) => `Filters (${number})`,
  filtersAlone: "Filters",
};

export const numbers = {
  title: "Numbers by type",
  warrants: "Warrants on them",
  objectsOf: (type: Children) => <>objects of type {type}</>,
  warrantsOf: (type: Children) => <>warrants on objects of type {type}</>,
  counting: (types: number, all: number) => `Counting: ${types} of ${all} types`,
  inAll: (objects: number, warrants: number) => (
    <>
      In all: <b>{format(objects)}</b> objects and <b>{format(warrants)}</b> warrants.
    </>
  ),
  moreThan: (number: number) => `more than ${format(number)}`,
};

export const pager = {
  title: "Pages",
  previous: "Previous",
  next: "Next",
};

export const tables = {
  actions: "Actions",
  why: (of: Children) => <>Why<span class="sr"> {of}</span></>,
  from: (time: Children) => <>from {time} </>,
  until: (time: Children) => <>until {time}</>,
  how: "How",
  because: "Because",
  nothingExcludes: "nothing excludes it",
  direct: (relation: string) => `${relation} (direct)`,
  delete: (warrant: Children) => <>Delete…<span class="sr"> {warrant}</span></>,
  andMore: (rows: number) => `and ${format(rows)} more`,
};

export const warrants = {
  sentence: (subject: Children, relation: string, preposition: string, object: Children, policy: string | undefined) => (
    <>
      {subject} is <b>{relation}</b> {preposition} {object}{policy && <> if <code>{policy}</code></>}
    </>
  ),
  create: "New warrant",
  exampleOfSubject: "user:kim or group:eng#member",
  conditions: "Conditions",
  policy: "Policy",
  whatWouldChange: "What would it change?",
  notAnObject: "The object must be written type:id, as in document:roadmap",
  notASubject: "The subject must be written type:id or type:id#relation",
  created: (warrant: string) => `Created ${warrant}.`,
  deleteTitle: "Delete this warrant?",
  deleted: (warrant: string) => `Deleted ${warrant}.`,
};

export const objects = {
  create: "New object",
  emptyId: "Leave it empty for an id that the service makes.",
  meta: "A JSON object. It is shown and searched, and decides nothing.",
  metaOf: (object: string) => `Meta of ${object}`,
  reading: "Reading the object",
  savedMeta: (object: string) => `Saved the meta of ${object}.`,
  deleteTitle: (object: string) => `Delete ${object}?`,
  findingEnds: "Finding what ends with it",
  tooMany: "These are too many to say who loses access.",
  wildcards: (type: Children) => (
    <>
      Access through a wildcard, such as {type}:*, ends with it, too. The history keeps all of it.
    </>
  ),
  notNamed: "No warrant names it.",
  ends: (number: number, isCut: boolean, isMove: boolean) =>
    `${isCut ? `More than ${format(number)}` : format(number)} ${number === 1 ? "warrant names it and ends" : "warrants name it and end"} with it${isMove ? ", and are made anew for the new id" : ""}:`,
  deleted: (object: string) => `Deleted ${object}.`,
  renameTitle: (object: string) => `Rename ${object}`,
  findingNames: "Finding what names it",
  newId: "New id",
  tooManyToRename: (warrants: number) => (
    <>
      More than {warrants} warrants name it, too many for one write. Create the object with its new id, copy the
      warrants with <code>magistrate export</code> and <code>magistrate import</code>, and delete this one.
    </>
  ),
  oneWrite: (hasDuration: boolean) =>
    `It is one write: the object with its meta, and every warrant, all or none. Applications that know it by its old id find nothing any more.${hasDuration ? " Conditions with expiresIn count from now, when the warrants are made anew." : ""}`,
  exists: (object: string) => `${object} exists already: choose an id that is free`,
  metaNotJson: (message: string) => `The meta is not JSON: ${message}`,
  metaNotAnObject: `The meta is not a JSON object: write ${examples.meta}`,
  changed: (object: string) =>
    `Somebody else has just changed ${object} or a warrant that names it. Nothing was written; look at it again`,
  who: "Who has access to it",
  what: "What it has access to",
  on: "Warrants on it",
  to: "Warrants to it",
  which: "Which object?",
  whichAdvice: (data: string) => <>An object is written <code>type:id</code>. Find one in the <a href={data}>data</a>.</>,
  editMeta: "Edit meta…",
  renameIt: "Rename…",
  deleteIt: "Delete…",
  about: "About this object",
  isLimited: (types: Children) => <>Your key is limited to {types}: only access to such objects is shown.</>,
  notStored: "It is not stored; warrants may name it all the same.",
  created: (time: Children) => <>Created {time}</>,
  typeUndefined: (type: string) => `The model does not define the type ${type}, so nobody has access to it.`,
  findingAccess: "Finding access",
  nobody: (object: string) => `Nobody has access to ${object}.`,
  nothing: (object: string) => `${object} has access to nothing.`,
  groupBy: "Group by",
  byNothing: "nothing",
  byReason: "because of",
  more: (rows: number) => <>There are more than these {rows} relations.</>,
  noWarrants: "There are no such warrants.",
};

export const access = {
  who: "Who has access",
  to: (type: string) => `Access to ${type}`,
  fewer: "Fewer relations",
  moreRelations: (number: number, relations: string) => `${number} more: ${relations}`,
  nothingExcludes: "Nothing excludes it",
  no: "no",
  if: "if",
  ifPolicy: <><b>if</b> a policy holds</>,
  cell: (relation: string, object: string, isByRules: boolean) =>
    `${relation} of ${object}, ${isByRules ? terms.byRules : terms.byWarrant}`,
  exported: (isByRules: boolean, policy: string | undefined, expiresAt: string | undefined) =>
    `${isByRules ? terms.byRules : terms.byWarrant}${policy ? ` if ${policy}` : ""}${expiresAt ? ` until ${expiresAt}` : ""}`,
  shown: (shown: number, all: number, areSubjects: boolean) =>
    `${shown === all ? all : `${shown} of ${all}`} ${areSubjects ? "with access" : "that it has access to"}`,
};

export const importing = {
  title: "Import a file",
  file: "File",
  advice: (
    <>
      A line for each warrant, <code>document:plan#viewer@user:ann</code>, or JSON: warrants and objects as the lists of
      the API have them. 500 lines are written at a time, all or none. If a line is wrong, correct it and import the
      file again: what is there already stays as it is.
    </>
  ),
  progress: (done: number, lines: number) => `${format(done)} of ${count(lines, "line")}`,
  noFile: "Choose a file first",
  tooLarge: "The file is larger than 64 MiB; the command magistrate import takes files of any size",
  stopped: (done: number, lines: number) => `Stopped after ${format(done)} of ${count(lines, "line")}`,
  imported: (lines: number) => `Imported ${count(lines, "line")}`,
  result: (end: string, created: number, unchanged: number) =>
    `${end}: ${were(created)} new, ${were(unchanged)} there already.`,
  notJson: "it is not valid JSON",
  notAWarrant: "write a warrant like document:plan#viewer@user:ann, or as JSON",
  isType: "it is an object type; the page Model writes those",
  neither: "it is neither a warrant nor an object",
  line: (line: number, message: string) => `Line ${line}: ${message}`,
};

export const queries = {
  results: "Results",
  example: "select document where user:ann is viewer",
  grammar: (
    <>
      <code>select TYPES where TYPE:ID is RELATIONS</code> finds objects,{" "}
      <code>select RELATIONS of type TYPES for TYPE:ID</code> finds subjects.
    </>
  ),
  run: "Run",
  saveIt: "Save…",
  savedAs: (name: string) => `Saved as ${name}.`,
  searching: "Searching",
  nothing: "Nothing has that.",
  nothingAdvice: "A row is here exactly when a check of it is allowed.",
  noModel: "There is nothing to query yet: the model has no relations.",
  noModelAdvice: (model: string) => (
    <>
      Write relations into the <a href={model}>model</a>, or start with an example: documents in folders, shared with
      people and groups.
    </>
  ),
  listObjects: "List objects, or subjects.",
  startWithType: (type: string) => `which objects of type ${type} ann has any relation on`,
  startWithAll: "everything that ann has access to",
  startWithExplicit: "only what warrants give, without rules",
};

export const savedQueries = {
  title: "Saved queries",
  saved: "Saved",
  edit: (name: Children) => <>Edit<span class="sr"> {name}</span></>,
  delete: (name: Children) => <>Delete<span class="sr"> {name}</span></>,
  saveTitle: "Save the query",
  editTitle: "Edit the saved query",
  all: "All who use the console of this store can open it by its name.",
  description: "What it is for (optional)",
  context: "Context for policies, a JSON object (optional)",
  changed: (name: string) => `Changed ${name}.`,
  deleted: (name: string) => `Deleted ${name}.`,
  deleteTitle: "Delete the saved query?",
  deleteAdvice: (name: Children) => (
    <>
      Nobody finds <span class="name">{name}</span> any more. Links to it go on working: they contain the query.
    </>
  ),
};

export const history = {
  purpose:
    "Every change of the model, the objects and the warrants, with who made it. Open one to see who gained and who lost access, or revert it.",
  madeBy: "Made by",
  anybody: "anybody",
  until: "Until",
  allChanges: "All changes",
  reading: "Reading changes",
  noChange: "No change has all of this.",
  noChanges: "Nothing has been changed yet.",
  noChangeAdvice: "Changes are listed as long as events are kept.",
  noChangesAdvice: "What you write is listed here, as long as events are kept.",
  earlier: "Earlier changes",
  searched: (time: Children) => <>Looked at all changes since {time}.</>,
  changes: "Changes",
  asOf: (moment: Children) => <>As of that time<span class="sr">, {moment}</span></>,
  link: (moment: Children) => <>Link<span class="sr"> to this change, {moment}</span></>,
  isPartial: (events: number) => <>This change has more than the {events} events that are read so far.</>,
  whoGained: "Who gained, who lost",
  whatChanged: "What changed in the model",
  revert: (moment: Children) => <>Revert…<span class="sr"> the change of {moment}</span></>,
  revertModel: (moment: Children) => <>Revert the model…<span class="sr"> of {moment}</span></>,
  isFirst: "This is the first change that is kept: there is nothing to compare it with",
  comparingModels: "Comparing the models",
  tooLong: "The texts are too long to be compared line by line.",
  warrant: (warrant: Children) => <>warrant: {warrant}</>,
  object: (object: Children) => <>object {object}</>,
  more: (changes: number) => <>{format(changes)} more in this change</>,
  notListed: (changes: number) => <>The other {format(changes)} are not listed here.</>,
  change: (verb: string, what: string) => `${verb} ${what}`,
  summary: (change: string, others: number, actor: string | undefined) =>
    `${change}${others > 0 ? ` and ${format(others)} more` : ""}${actor ? `, by ${actor}` : ""}`,
  added: "added: ",
  removed: "removed: ",
  changedLines: "Changed lines",
  notKept: "The stream of changes does not have this one any more",
  tooLarge: (number: number) => `It changed more than can be reverted here, which is ${format(number)} warrants and objects`,
};

export const revert = {
  title: "Revert this change?",
  comparing: "Comparing with now",
  nothing: "There is nothing to revert: all of it is as it was before.",
  advice: "What was changed later by others stays. This would be written, all or none:",
  kept: (kept: number) => `${format(kept)} ${kept === 1 ? "stays" : "stay"} as now`,
  changed: "Somebody else has just changed what this would revert. Nothing was written; look at it again",
  done: (changes: number) => `Reverted ${changes === 1 ? "one change" : `${format(changes)} changes`}.`,
  modelTitle: "Revert the model?",
  sameModel: "The definitions are as they were before.",
  notRead: "It is not known yet what to save",
  wouldHaveExpired: "would have expired by now",
  toOldLimits: "to the time limits that it had",
  limitsChanged: "its time limits were changed since",
  existsAgain: "exists again",
  isDeleted: "is deleted already",
  wasChanged: "was changed since",
  isNamed: "is named by other warrants now",
  isGone: "does not exist any more",
  isAsItWas: "is as it was",
  toOldMeta: "to the meta that it had",
};

export const live = {
  show: "Show",
  written: "what is written",
  access: "who gains and loses access",
  noPast: "The past does not change.",
  noPastAdvice: "This page shows what is written from now on. Go back to now to see it.",
  whichAccess: "Which access?",
  whichAccessAdvice: (
    <>
      Write a type, a relation and a type of subjects, such as <code>document#viewer@user</code>. Whoever gains or loses
      this access is listed here, with the cause.
    </>
  ),
  connectNow: "Connect now",
  nothing: "Nothing has happened yet.",
  nothingAdvice: (entries: number) => <>What is written from now on is listed here, {entries} entries at most.</>,
  accessTitle: "Access gained and lost",
  paused: "Paused",
  pausedAdvice: "It goes on with what follows the first entry.",
  connected: "Connected",
  connecting: "Connecting",
  notConnected: "Not connected",
  retry: (reason: string, seconds: number) =>
    `${reason}. It is tried again ${seconds === 1 ? "at once" : `in ${seconds} s`}.`,
  wasCut: "The connection was cut",
  missing: "Changes before this are missing: they are not kept any more, or the store was restored.",
  tooMuch: "This change concerns too much access to list it.",
  announced: (entries: number, last: string) => `${entries} new entries, the last: ${last}`,
  accessOf: (subject: string, isGained: boolean, relation: string, object: string, others: number) =>
    `${subject} ${isGained ? "gained" : "lost"} ${relation} on ${object}${others > 0 ? ` and ${format(others)} more` : ""}`,
  none: "nothing",
  keyEnded: "The key has ended, or may not read events any more",
  storeDeleted: "The store was deleted",
  seePast: (reason: Children, history: string) => <>{reason} See the <a href={history}>past changes</a>.</>,
  wasCreated: "was created",
  wasDeleted: "was deleted",
  because: (cause: Children, verb: Children) => <>because {cause} {verb}</>,
  typesChanged: (types: string[]) =>
    types.length === 1
      ? `because the object type ${types[0]} was changed`
      : `because the object types ${types.join(", ")} were changed`,
  moreCauses: (causes: number) => `and ${format(causes)} more ${causes === 1 ? "cause" : "causes"}`,
};

export const model = {
  reading: "Reading the model",
  review: "Review and save…",
  format: "Format",
  backToStored: "Back to the stored model",
  importIt: "Import…",
  cannotSave: ", so it cannot save. Try changes here, and download them.",
  loadingEditor: "Loading the editor",
  validation: "Validation",
  validating: "Validating",
  errors: "Errors",
  warnings: "Warnings",
  isInEditor: "The model is in the editor. Review it, and save it.",
  editorNotLoaded: "The editor could not be loaded",
  valid: "Valid",
  notValid: "Not valid",
  noFaults: "The model has no faults.",
  place: (line: number, column: number) => <>Line {line}, column {column}</>,
  write: (suggestion: Children) => <>Write {suggestion}.</>,
  saved: "The model was saved.",
};

export const graph = {
  title: "Graph of the model",
  byWarrants: "given by warrants",
  byRule: "follows from its rule",
  byBoth: "given by warrants or by its rule",
  find: "Find",
  show: "Show",
  allTypes: "all types",
  neighbours: (type: Children) => <>{type} and its neighbours</>,
  smaller: "Smaller",
  larger: "Larger",
  fit: "Fit",
  typesOnly: "Types only",
  saveSvg: "Save SVG",
  contents: "Types and relations",
  keys: "The arrow keys move it, plus and minus change its size, and 0 shows all of it.",
  signs: "Signs",
  empty: "Types are drawn here as soon as there is one.",
  tooMany: (types: number) => (
    <>
      All {types} types together would be too small to read. Show one with its neighbours, or move the drawing.
    </>
  ),
  dependsOnIt: (relation: string) => `; ${relation} depends on it`,
};

export const completions = {
  of: (name: string) => `of ${name}`,
  is: (relation: string) => `is ${relation}`,
  usersets: "those who have it",
  toObjects: "leads to objects",
  ofSame: "of the same object",
  one: "one",
  all: "all",
};

export const review = {
  title: "Save this model?",
  finding: "Finding what it would change",
  otherChange: (
    <>
      <strong>Somebody else has changed the model since you opened it.</strong> What you see here is compared with the
      model as it is now: lines that you did not change are changes of somebody else, which yours would undo.
    </>
  ),
  comments: <>Comments (<code>//</code>) are not stored with the model; descriptions (<code>///</code>) are.</>,
  accessNotKnown: (reason: Children) => <>It is not known who gains and who loses: {reason}.</>,
  nothing: "Nothing would change: the service has this model.",
  stranded: (warrants: number, hasMore: boolean) =>
    `${hasMore ? `More than ${format(warrants)}` : format(warrants)} ${warrants === 1 && !hasMore ? "warrant is" : "warrants are"} not allowed by this model:`,
  more: (warrants: number, hasMore: boolean) => (hasMore ? "and more" : tables.andMore(warrants)),
  strandedAdvice: "Delete them first, allow them, or keep them: they stay stored, and count again when a model allows them.",
  keep: "Keep them without effect",
  changed: "Somebody else has just changed the model. Nothing was saved, and your text is still here",
};

export const importModel = {
  title: "Import a model",
  convert: "Convert",
  paste: "Or paste the model",
  advice:
    "A model of OpenFGA, in its language or as JSON, a schema of SpiceDB, or a model of this service. A store file of OpenFGA or a validation file of SpiceDB brings its relationships and tests. The model is put into the editor; nothing is saved yet.",
  otherFile: "Relationships from another file",
  relationships: "File of relationships",
  pasteRelationships: "Or paste the relationships",
  relationshipsAdvice:
    "Tuples of OpenFGA in YAML or JSON, or relationships of SpiceDB, one in each line. They are converted with the model above, because their names depend on it.",
  leaveOut: "Leave out what cannot be expressed here, with all that depends on it",
  nothing: "Paste a model, or choose a file",
  tooLong: "The text has more than 1,048,576 characters; use the command magistrate import",
  rest: (warrants: number, tests: number, isModelFirst: boolean) =>
    `The file also has ${count(warrants, "warrant")} and ${count(tests, "test")}.${isModelFirst ? " Save its model first: the warrants are written after it." : ""}`,
  showWarrants: "Show the warrants",
  importWarrants: (warrants: number) => `Import ${count(warrants, "warrant")}…`,
  replaceTests: "Replace the tests of this tab",
  openTests: "Open the tests",
  isDone: "Done",
  discard: "Discard them",
  importTitle: (warrants: number) => `Import ${count(warrants, "warrant")}?`,
  tooMany: (warrants: number) => <>They are more than {warrants}, so what access they give is not shown before.</>,
  progress: "Progress of the import",
  imported: "Imported",
};

export const tests = {
  open: "Open a file…",
  clear: "Clear…",
  downloadAll: "Download with all warrants",
  file: "Test file",
  saved: "Saved. The command magistrate model test runs this file.",
  savedAll: (warrants: number, most: number | undefined) =>
    `Saved with ${count(warrants, "warrant")}${most === undefined ? "" : `; a file has ${format(most)} at most, so the others are missing`}. The command magistrate playground opens this file.`,
  tooLarge: "The file is larger than 4 MiB",
  opened: (file: string) => `Opened ${file}.`,
  removeTitle: "Remove all tests?",
  removeAdvice: "They are in this tab alone. Download them first if you need them again.",
  editorAdvice: (
    <>
      Tab indents; <kbd>Esc</kbd> and then <kbd>Tab</kbd> leaves the editor. Without <code>model</code>, the model of
      the service is tested. Stored warrants do not count, only those under <code>setup</code>. The file is kept in this
      tab until you close it or sign out.
    </>
  ),
  line: (line: number) => <>Line {line}</>,
  noTestsInFile: "There are no tests in the file yet.",
  running: "Running the tests",
  failed: "Failed",
  passed: "Passed",
  counts: (passed: number, failed: number) => <>{passed} passed, {failed} failed</>,
  whatPassed: "What passed",
  why: (isAllowed: boolean) => `Why it is ${isAllowed ? "allowed" : "denied"}`,
  wouldAllow: "This would allow it:",
  sameCheck: "The same check of what is stored",
  noTests: "There are no tests yet.",
  noTestsAdvice: (why: string, queries: string) => (
    <>
      A test is a check with the answer that you expect. <a href={why}>Explain a check</a> or <a href={queries}>run a
      query</a>, and pin what must stay as it is: each pinned check comes with the warrants that it depends on. The
      tests are run at each change of the file, with the current model.
    </>
  ),
  startWithExample: "Start with an example",
  tabIndents: "Tab indents lines; press Escape and then Tab to leave the editor.",
};

export const keys = {
  reading: "Reading keys",
  create: "New key",
  belong: (store: string | undefined, own: string) => (
    <>
      These keys belong to {store === undefined ? "the store of your key" : <>the store <b>{store}</b></>} and open no
      other, but for those of the store <b>default</b> with the scope <b>stores</b>. What <a href={own}>your own
      key</a> may do has a page of its own.
    </>
  ),
  secretOf: (name: string) => `The key ${name}`,
  none: "There are no stored keys.",
  noneAdvice:
    "Callers share the key that was configured or generated, which may do everything. Give each its own, with the scopes that it needs: its name is beside its changes in the history, and it can be revoked alone.",
  beginsWith: "Begins with",
  scopes: "Scopes",
  lastUsed: "Last used",
  expires: "Expires",
  unknownScope: "unknown to this console",
  rotate: (name: Children) => <>Rotate…<span class="sr"> {name}</span></>,
  revoke: (name: Children) => <>Revoke…<span class="sr"> {name}</span></>,
  nameAdvice: "It stands beside the changes of the key in the history.",
  limits: "Limits",
  chooseTypes: "Object types (none chosen: all)",
  noScope: "A key needs at least one scope",
  created: (name: string) => `Created the key ${name}.`,
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeAdvice: (prefix: string, lastUsed: Children) => (
    <>
      Whoever uses <code>{prefix}…</code> is refused within a second. This cannot be undone. It was last
      used: {lastUsed}.
    </>
  ),
  revoked: (name: string) => `Revoked the key ${name}.`,
  rotateTitle: (name: string) => `Replace the secret of ${name}?`,
  oldStaysValid: "The old one stays valid for",
  noTime: "no time: it is refused at once",
  anHour: "an hour",
  aDay: "a day",
  rotated: (name: string) => `Rotated the key ${name}.`,
  shownOnce: (secret: Children) => <><b>{secret}</b>, shown only this once:</>,
  copied: "Copied",
  isStored: "I have stored it",
};

export const ownKey = {
  signedIn: (key: string, store: string | undefined, opensAll: boolean) => (
    <>
      You are signed in with the key <b class="name">{key}</b>, for{" "}
      {store === undefined ? "the store that it belongs to" : <>the store <b class="name">{store}</b></>}.{" "}
      {opensAll ? "It may use every other store, too." : "It opens no other store."}
    </>
  ),
  isLimited: (types: string) => `It sees only objects of the types ${types}, and what concerns all types is closed to it.`,
  isOfAllTypes: "It may use objects of all types.",
  title: "What your key may do",
  scope: "Scope",
  meaning: "With it, a key may",
  allOfThis: "do all of this",
  may: "may",
  mayNot: "may not",
};

export const scopes = {
  check: "check access, and create sessions",
  forward: "check the requests that a gateway passes on, for any subject",
  query: "find objects and subjects",
  read: "read the model and the data, explain, compare",
  write: "create and delete warrants and objects",
  model: "change the model",
  events: "read the history",
  metrics: "read metrics",
  keys: "manage keys",
  webhooks: "manage webhooks, which get all changes",
  stores: "manage stores, and use all of them",
  admin: "all of these",
};

export const sessions = {
  create: "New session",
  advice: (
    <>
      A session is a token with which a user checks their own access, from a browser or an app: it is sent
      as <code>Authorization: Bearer</code>. The service does not list sessions; <code>magistrate sessions
      revoke</code> ends all of them.
    </>
  ),
  user: "User",
  exampleOfUser: "kim",
  validFor: "Valid for",
  aQuarter: "15 minutes",
  of: (user: string) => `A session of user:${user}`,
};

export const webhooks = {
  secret: "The secret that signs",
  reading: "Reading webhooks",
  create: "New webhook",
  none: "There are no webhooks.",
  noneAdvice:
    "A webhook is a URL to which changes are sent as they are made, signed and in order: for caches, search indexes and audit systems that have to react.",
  url: "URL",
  gets: "Gets",
  access: "access that is gained and lost",
  ownSecret: "Secret",
  signs: "A secret that signs",
  exampleOfSecret: "whsec_…",
  noSecret: "Leave it empty to have one generated, which is shown once.",
  exampleOfUrl: "https://receiver.example/changes",
  description: "Description",
  exampleOfTypes: "document, folder",
  namesAdvice: "Separate names by commas; none: all.",
  patternsAdvice: "Separate patterns by commas.",
  enabled: "Enabled",
  disabled: "Disabled",
  gone: "Gone",
  dead: "Dead",
  retrying: "Retrying",
  failed: (attempts: number, next: string | undefined) =>
    `${attempts === 1 ? "An attempt" : `${attempts} attempts`} failed${next ? `; the next one is at ${next}` : ""}`,
  ofSubjectType: "type of subject",
  ofAccess: "access",
  ofType: "type",
  ofRelation: "relation",
  only: (what: string, names: string[]) => `${what} ${names.join(" or ")}`,
  allChanges: "all changes",
  readingOne: "Reading the webhook",
  sendTest: "Send a test",
  disable: "Disable",
  enable: "Enable",
  edit: "Edit…",
  rotate: "Rotate the secret…",
  replay: "Replay…",
  delete: "Delete…",
  all: "All webhooks",
  isEnabled: "Enabled. It goes on with the first change that it has not got.",
  isDisabled: "Disabled. What changes meanwhile is sent when it is enabled again.",
  title: "Webhook",
  hasUpTo: "Has everything up to",
  oldSecret: "The secret before signs, too, until",
  skipped: "Skipped, because they were not kept",
  thisWrite: "this write",
  skippedChanges: (time: Children, write: string) => <>changes until {time}, after <a href={write}>this write</a></>,
  editTitle: "Edit the webhook",
  saved: "Saved.",
  rotateTitle: "Replace the secret?",
  rotateAdvice: "For 24 hours, messages are signed with both secrets, so that the receiver can change over.",
  rotated: "Rotated the secret.",
  deleteTitle: "Delete the webhook?",
  deleteAdvice: (url: Children) => <>Nothing is sent to <span class="name">{url}</span> any more. This cannot be undone.</>,
  replayTitle: "Send changes again",
  replayNow: "Replay",
  after: "After the write",
  exampleOfToken: "token of a write",
  replayAdvice:
    "Everything that was written after it is sent again, in order. Choose the first change to send, or give a token.",
  replayed: "Everything after that write is sent again.",
};

export const deliveries = {
  title: "Deliveries",
  readAgain: "Read again",
  none: "Nothing was sent yet.",
  noneAdvice: "The last 100 attempts are listed here. Send a test to see whether the receiver answers.",
  time: "Time",
  result: "Result",
  took: "Took",
  attempt: "Attempt",
  message: "Message",
  replayAfter: (id: Children) => <>Replay after this…<span class="sr"> {id}</span></>,
  failed: "Failed",
  delivered: "Delivered",
  answered: (status: number) => `The receiver answered ${status}.`,
};

export const integrations = {
  purpose: (
    <>
      All of these answer from the same model and the same warrants. The requests take the key from the environment
      variable <code>MAGISTRATE_API_KEY</code>.
    </>
  ),
  magistrate: "The API of this service, which clients of Warrant use unchanged.",
  warrantTitle: "Warrant FGA",
  warrant: "The last API of the hosted Warrant, for applications that were written for it.",
  notKnown: "Not known",
  on: "On",
  off: "Off",
  openFgaTitle: "OpenFGA",
  openFga: "The HTTP API of OpenFGA: its SDKs and its command line take this service as their server.",
  storeId: (id: Children) => <>Its id of this store is <code class="name">{id}</code>.</>,
  authZenTitle: "AuthZEN",
  authZen: (model: string) => (
    <>
      The Authorization API 1.0 of the OpenID Foundation. An action is the name of a relation, or of an action in
      the <a href={model}>model</a>.
    </>
  ),
  actions: "Actions",
  gatewaysTitle: "Gateways",
  gateways: (
    <>
      nginx, Traefik, Caddy, Envoy and HAProxy check here whether a request may pass. Which check a request becomes is
      in the file of rules that the service is started with; <code>magistrate forward test</code> shows which rule
      decides a request.
    </>
  ),
  agentsTitle: "Agents",
  agents: (
    <>
      <code>magistrate mcp</code> is a server of the Model Context Protocol that runs beside an agent. It checks,
      explains, queries, compares and tests models; it changes nothing unless it is started
      with <code>--allow-writes</code> and its key may write.
    </>
  ),
  noOpenFga: "The service was started with --openfga off.",
  lacksForward: "Your key lacks the scope forward, which it takes to find out.",
  noRules: "The service was started without --forward-rules.",
  noPublicUrl: "The service was started without --public-url, so it does not publish its URLs.",
};

export const metrics = {
  reading: "Reading metrics",
  everyTwoSeconds: "Every two seconds, for all workers. The requests of this page count, too.",
  sinceStart: "Since the service was started, for all workers. What happens now follows in two seconds.",
  inAll: (requests: number) => <>{format(requests)} in all</>,
  requests: "Requests a second",
  cacheHits: "Checks from the cache alone",
  noChecks: "no checks",
  cacheEntries: "Entries in the cache",
  statements: "Statements a second",
  errors: "Errors (5xx) a second",
  waiting: (running: number, waiting: number) => <>{running} running, {waiting} waiting</>,
  refused: "Requests refused a second",
  p50: "p50",
  p99: "p99",
  routes: "Routes",
  route: "Route",
  requestsOfRoute: "Requests",
  aSecond: "A second",
  milliseconds: (value: number) => `${value} ms`,
  tooLong: "more than 10 s",
  otherPaths: "other paths",
};

export const reference = {
  shortTitle: "API",
  title: "Magistrate API",
  console: "Console",
  requests: "Requests",
  search: "Search requests",
  results: (requests: number) => `${requests} found`,
  all: (requests: number) => `${requests} requests`,
  noRequest: "There is no such request. Choose one of the list.",
  purpose: (
    <>
      Every request carries <code>Authorization: ApiKey &lt;key&gt;</code>, with a key that has the scope of the
      request; a check may carry <code>Authorization: Bearer &lt;token&gt;</code> of a user instead. The same
      description for machines: <a href="openapi.json">openapi.json</a>.
    </>
  ),
  hasKey: "Requests are sent with the key of this tab.",
  discardKey: "Discard the key",
  key: "API key, to try requests",
  useKey: "Use the key",
  body: "Body",
  answers: "Answers",
  members: "Members of the answer",
  parameters: "Parameters",
  required: "required",
  parameter: (type: Children, place: Children) => <>{type}, in the {place}</>,
  tryIt: "Try it",
  send: "Send",
  noKey: "Give a key first.",
  failure: (message: string, advice: string) => `${message}. ${advice}`,
  duration: (milliseconds: number) => `in ${milliseconds} ms`,
  answer: "Answer",
  elsewhere: "The same request elsewhere",
  language: "Language",
  sameMembers: "the same members again",
  anyName: "any name",
  membersOf: "Members",
  otherGroup: "Other",
  atLeast: "at least",
  atMost: "at most",
  charactersAtLeast: "characters, at least",
  charactersAtMost: "characters, at most",
  elementsAtLeast: "elements, at least",
  elementsAtMost: "elements, at most",
  membersAtMost: "members, at most",
  or: " or ",
  alternative: (type: string, isFirst: boolean) => `${isFirst ? "either" : "or"} ${type}`,
  arrayOf: (type: string) => `array of ${type}`,
  pattern: (pattern: string) => `pattern ${pattern}`,
  default: (value: string) => `default ${value}`,
};
