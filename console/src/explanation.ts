/** Turns the answer of POST /v2/explain into what people read: requirements, how near each came, and changes. */

import { keyOf, readCheck, writeWarrant, type Warrant, type WarrantKey } from "./names";
import { showObject, showRelation, showSubject, showText, showWarrant } from "./openfga_names";
import { OPERATORS, type Operator } from "./operators";
import * as words from "./words";

export type Truth = boolean | "unknown";

export interface PolicyTrace {
  text: string;
  holds: Truth;
  values?: Record<string, unknown>;
  missing?: string[];
  long?: string[];
}

export interface Node {
  check?: string;
  rule?: string;
  holds: Truth;
  via?: Warrant;
  outOfForce?: "expired" | "notStarted";
  policy?: PolicyTrace;
  children?: Node[];
  cut?: number;
  loop?: boolean;
}

export interface Suggestion {
  create: WarrantKey[];
  delete: Warrant[];
  context: { missing: string[]; different?: string[]; example?: Record<string, unknown> };
  /** How many rows of access others gain and lose; there may be more unless it is complete. */
  effects: { gained: number; lost: number; complete: boolean };
  note: string;
}

export interface Explanation {
  decision: "allowed" | "denied";
  check: string;
  because: Node;
  path?: Warrant[];
  wouldAllow?: Suggestion[];
  unknown: string[];
  complete?: boolean;
}

/** Represents one link of a path: a warrant, or one that is missing or does not count. */
export interface Link {
  warrant: WarrantKey & { startsAt?: string; expiresAt?: string };
  state: "counts" | "missing" | "void";
  condition?: string;
}

/** Represents one requirement of a denied check. */
export interface Requirement {
  kind: "met" | "missing" | "excluded" | "undecided";
  sentence: string;
  links: Link[];
  /** The other branches that were tried and failed. */
  branches: Branch[];
  /** How many of them the explanation left out. */
  hidden: number;
  suggestion?: Suggestion;
}

/** Represents a branch that failed, with the change that would make it hold if there is a single one. */
export interface Branch {
  sentence: string;
  suggestion?: Suggestion;
}

export function describePolicy(policy: PolicyTrace): string {
  if (policy.holds === true) return words.explanation.ifPolicy(policy.text);
  const reasons = [
    ...(policy.missing ?? []).map((name) => words.explanation.notSent(name)),
    ...Object.entries(policy.values ?? {}).map(([name, value]) => words.explanation.isValue(name, JSON.stringify(value))),
    ...(policy.long ?? []).map((name) => words.explanation.isAsSent(name)),
  ];
  if (reasons.length === 0) reasons.push(policy.holds === false ? words.explanation.doesNotHold : words.explanation.isNotEvaluated);
  return words.explanation.ifBut(policy.text, reasons);
}

function linkOf(node: Node & { via: Warrant }): Link {
  const conditions: string[] = [];
  if (node.policy) conditions.push(describePolicy(node.policy));
  else if (node.via.policy) conditions.push(words.explanation.ifPolicy(node.via.policy));
  if (node.outOfForce === "expired") conditions.push(words.explanation.expiredAt(node.via.expiresAt ?? ""));
  if (node.outOfForce === "notStarted") conditions.push(words.explanation.startsAt(node.via.startsAt ?? ""));
  const isVoid = node.outOfForce !== undefined || (node.policy !== undefined && node.policy.holds !== true);
  return { warrant: node.via, state: isVoid ? "void" : "counts", condition: conditions.join("; ") || undefined };
}

function hasVia(node: Node): node is Node & { via: Warrant } {
  return node.via !== undefined;
}

function hasCondition(node: Node): boolean {
  return node.policy !== undefined || node.outOfForce !== undefined;
}

/** Returns the links that a node which holds depends on, from the subject to the object. The tree has 50 levels at most. */
function listReasons(node: Node): Link[] {
  const inner = (node.children ?? []).filter((child) => child.holds === true).flatMap(listReasons);
  return hasVia(node) ? [...inner, linkOf(node)] : inner;
}

export function pathLinks(path: Warrant[]): Link[] {
  return path.map((warrant) => ({
    warrant,
    state: "counts",
    condition: warrant.policy ? words.explanation.ifPolicy(warrant.policy) : undefined,
  }));
}

/** Returns the requirements of a denied check: those that are met, and those that are not, with the first change to
 * look at. It takes no access from others if any change does not. Each change is at one place. */
export function listRequirements(explanation: Explanation): Requirement[] {
  const requirements = collectRequirements(explanation.because, relationOf(explanation.because), explanation);
  const taken = new Set<Suggestion>();
  const gentlest = listGentlest(explanation.wouldAllow ?? []);
  for (const requirement of requirements) {
    if (requirement.kind === "met") continue;
    const fitting = gentlest.find((one) => !taken.has(one) && fits(one, requirement));
    if (fitting) {
      requirement.suggestion = fitting;
      taken.add(fitting);
    }
  }
  for (const branch of requirements.flatMap((one) => one.branches)) {
    if (branch.suggestion && taken.has(branch.suggestion)) branch.suggestion = undefined;
    else if (branch.suggestion) taken.add(branch.suggestion);
  }
  return requirements;
}

/** Returns the changes that may be offered first: those that are known to take nothing from others, if there are any. */
function listGentlest(suggestions: Suggestion[]): Suggestion[] {
  const gentle = suggestions.filter(({ effects }) => effects.lost === 0);
  const known = gentle.filter(({ effects }) => effects.complete);
  return [known, gentle, suggestions].find((some) => some.length > 0) ?? [];
}

/** Returns what others gain and lose by a change, as a sentence; nothing for one that writes nothing. */
export function describeEffects({ create, delete: deleted, effects }: Suggestion): string {
  if (create.length + deleted.length === 0) return "";
  return words.effects.onOthers(effects.lost, effects.gained, effects.complete);
}

function collectRequirements(root: Node, relation: string, explanation: Explanation): Requirement[] {
  let node = root;
  for (;;) {
    relation = relationOf(node) || relation;
    const failing = (node.children ?? []).filter((child) => child.holds !== true || hasCondition(child));
    const child = failing[0];
    if (!child?.rule || failing.length > 1) return [describeShortfall(node, explanation)];
    node = child;
    const requires = requiredBy(node);
    if (requires === "none") return describeExclusions(node, relation);
    if (requires === "all") return describeAllOf(node, relation, explanation);
    if (!node.children?.length) return [describeShortfall(node, explanation)];
  }
}

/** Returns which of the rules in a rule have to hold, if it has any. */
function requiredBy(node: Node): Operator["requires"] | undefined {
  return OPERATORS[node.rule ?? ""]?.requires;
}

function describeAllOf(node: Node, relation: string, explanation: Explanation): Requirement[] {
  const requirements: Requirement[] = [];
  for (const child of node.children ?? []) {
    if (child.holds === true) {
      const links = listReasons(child);
      if (links.length > 0) {
        const sentence = words.explanation.asRequired(saySentence(child, true), showRelation(relation));
        requirements.push({ kind: "met", sentence, links, branches: [], hidden: 0 });
      }
    } else if (requiredBy(child) === "none") {
      requirements.push(...describeExclusions(child, relation));
    } else {
      requirements.push(...collectRequirements(child, relation, explanation));
    }
  }
  return requirements;
}

function describeExclusions(node: Node, relation: string): Requirement[] {
  return (node.children ?? []).map((child) =>
    child.holds === true
      ? {
          kind: "excluded",
          sentence: words.explanation.rulesOut(saySentence(child, true), showRelation(relation)),
          links: listReasons(child),
          branches: [],
          hidden: 0,
        }
      : {
          kind: "undecided",
          sentence: words.explanation.isUnknown(saySentence(child, true), showRelation(relation)),
          links: [],
          branches: [],
          hidden: 0,
        },
  );
}

function describeShortfall(node: Node, explanation: Explanation): Requirement {
  const chain = findChain(node, explanation);
  const last = chain[chain.length - 1] ?? node;
  let links: Link[] = [];
  if (last.holds === true) {
    links = listReasons(last);
    if (hasVia(last)) links = links.slice(0, -1);
  } else if (!hasCondition(last) || last.children?.length) {
    const lack = last.check ? readCheck(last.check) : undefined;
    if (lack) links = [{ warrant: lack, state: "missing" }];
  }
  links.push(...chain.filter(hasVia).map(linkOf).reverse());
  const leadsNowhere = links.length < 2 && !links[0]?.condition;
  const ending = leadsNowhere ? words.explanation.nothingLeads : words.explanation.closest;
  return {
    kind: node.holds === "unknown" ? "undecided" : "missing",
    sentence: describeNotHeld(node, ending),
    links: leadsNowhere ? links.filter((one) => one.state !== "missing") : links,
    branches: listBranches(node, last, explanation),
    hidden: countCut(node),
  };
}

/** Returns what is not the case. A rule that is no relation has no sentence about the subject. */
function describeNotHeld(node: Node, ending: string): string {
  if (node.check) return saySentence(node, false) + ending;
  if (!node.rule) return words.explanation.never;
  const condition = node.policy ? ` (${describePolicy(node.policy)})` : "";
  const sentence = saySentence(node, false) + condition;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1) + (node.children?.length ? ending : ".");
}

/** Returns the branches below a node that failed, apart from the one that comes closest: those at the ends, and those that
 * a single change would make hold. */
function listBranches(node: Node, closest: Node, explanation: Explanation): Branch[] {
  const suggestions = new Map(
    (explanation.wouldAllow ?? [])
      .filter((one) => one.delete.length === 0 && one.create.length === 1 && !hasExample(one))
      .map((one) => [writeWarrant(one.create[0] as WarrantKey), one]),
  );
  const branches = new Map<string, Branch>();
  const nodes = [...(node.children ?? [])];
  for (const one of nodes) {
    if (one.holds === true) continue;
    nodes.push(...(one.children ?? []));
    if (!one.check || one === closest || one.check === closest.check) continue;
    const suggestion = suggestions.get(one.check);
    const isEnd = !one.children?.length && !one.loop;
    if (isEnd || suggestion) branches.set(one.check, { sentence: `${saySentence(one, false)}.`, suggestion });
  }
  return [...branches.values()];
}

/** Returns the nodes from this one to the one that is nearest to holding: first what only a policy or a time limit
 * prevents, then what the first suggestion is about. */
function findChain(node: Node, explanation: Explanation): Node[] {
  const suggestions = explanation.wouldAllow ?? [];
  const wanted = suggestions
    .filter((one) => one.delete.length === 0 && one.create.length === 1 && !hasExample(one))
    .map((one) => one.create.map(writeWarrant)[0]);
  const chains: Node[][] = [[node]];
  let best: Node[] = [node];
  let bestRank = Infinity;
  for (const chain of chains) {
    for (const child of chain[chain.length - 1]?.children ?? []) {
      if (child.rule) continue;
      const grown = [...chain, child];
      chains.push(grown);
      const rank = rankNode(child, wanted, suggestions);
      if (rank < bestRank) {
        best = grown;
        bestRank = rank;
      }
    }
  }
  return best;
}

const FIRST = 1000;

function rankNode(node: Node, wanted: (string | undefined)[], suggestions: Suggestion[]): number {
  if (node.outOfForce && node.via) return wanted.includes(writeWarrant(node.via)) ? 0 : 1;
  if (node.policy && node.policy.holds !== true) {
    const { values = {}, missing = [], long = [] } = node.policy;
    const variables = [...Object.keys(values), ...missing, ...long];
    const examples = suggestions.map((one) => Object.keys(one.context.example ?? {}));
    const ranks = examples
      .filter((example) => example.length > 0 && variables.every((name) => example.includes(name)))
      .map((example) => countOthers(node.policy?.text ?? "", example));
    return Math.min(1, ...ranks);
  }
  const place = node.check ? wanted.indexOf(node.check) : -1;
  return FIRST + (place < 0 ? wanted.length : place);
}

/** Returns which part of the words of a policy are no names of these variables: the fewer, the likelier they are all
 * that it needs. It is 1 if none of them occurs. */
function countOthers(text: string, names: string[]): number {
  const parts = new Set(text.replace(/"[^"]*"|'[^']*'/g, "").match(/[\p{L}_][\p{L}\d_]*/gu) ?? []);
  const others = [...parts].filter((word) => !names.includes(word));
  return parts.size === 0 ? 1 : others.length / parts.size;
}

/** Returns how many failed branches below a node the explanation left out. The tree has 50 levels at most. */
function countCut(node: Node): number {
  if (node.holds === true) return 0;
  return (node.children ?? []).reduce((sum, child) => sum + countCut(child), node.cut ?? 0);
}

export function hasExample(suggestion: Suggestion): boolean {
  return Object.keys(suggestion.context.example ?? {}).length > 0;
}

/** Returns whether a suggestion is about a requirement: it deletes one of its warrants, creates what is missing, or
 * sends what a policy of it reads. */
function fits(suggestion: Suggestion, requirement: Requirement): boolean {
  const written = requirement.links.map((one) => writeWarrant(one.warrant));
  if (suggestion.delete.some((warrant) => written.includes(writeWarrant(warrant)))) return true;
  if (requirement.kind === "excluded") return false;
  if (suggestion.create.some((warrant) => written.includes(writeWarrant(warrant)))) return true;
  return hasExample(suggestion) && requirement.links.some((one) => one.state === "void" && one.condition);
}

export function relationOf(node: Node): string {
  return (node.check ? readCheck(node.check)?.relation : undefined) ?? "";
}

/** Returns a step in words: `user:kim is not viewer of document:roadmap`. */
export function saySentence(node: Node, isHeld: boolean): string {
  if (node.rule) return words.explanation.rule(showText(node.rule), isHeld);
  const parts = node.check ? readCheck(node.check) : undefined;
  if (!parts) return node.check ?? "";
  return words.explanation.relation(showSubject(parts.subject), isHeld, sayRelation(showRelation(parts.relation)), showObject(parts));
}

/** Relations that are said of somebody like an adjective or a verb, such as `blocked` and `can-read`. */
const ADJECTIVE = /(?:ed|able|ible|idden|open|public|private)$|^(?:can|may|is)[-_]/;

/** Returns a relation with its preposition: `viewer of`, but `blocked on` and `can-read on`. */
export function sayRelation(relation: string): string {
  return `${relation} ${choosePreposition(relation)}`;
}

export function choosePreposition(relation: string): "on" | "of" {
  return ADJECTIVE.test(relation) ? "on" : "of";
}

export interface Change {
  verb: "delete" | "create" | "send";
  /** What requests have. */
  what: string;
  /** What OpenFGA calls it, if that differs. */
  inOpenFga?: string;
}

export function listChanges(suggestion: Suggestion): Change[] {
  return [
    ...suggestion.delete.map((one) => changeOf("delete", one)),
    ...suggestion.create.map((one) => changeOf("create", one)),
    ...Object.entries(suggestion.context.example ?? {}).map(
      ([name, value]): Change => ({ verb: "send", what: `${name} = ${JSON.stringify(value)}` }),
    ),
  ];
}

function changeOf(verb: "delete" | "create", warrant: WarrantKey): Change {
  const what = writeWithPolicy(warrant);
  const shown = showWarrant(warrant) + (warrant.policy ? `[${showText(warrant.policy)}]` : "");
  return shown === what ? { verb, what } : { verb, what, inOpenFga: shown };
}

export function writeWithPolicy(warrant: WarrantKey): string {
  return writeWarrant(warrant) + (warrant.policy ? `[${warrant.policy}]` : "");
}

export function proposalOf(suggestion: Suggestion): Proposal {
  return { create: suggestion.create.map(keyOf), delete: suggestion.delete.map(keyOf) };
}

export interface Proposal {
  create: Warrant[];
  delete: WarrantKey[];
}
