/** Reads what completion and the graph need of a model as text (docs/models.md). It never fails: what cannot be read is
 * left out, so that both work while somebody writes. The service says what is wrong. */

/** Represents what a rule of a relation depends on: another relation, of the same object or of related ones. */
export interface Dependency {
  relation: string;
  /** The relation that leads to the objects, and their types; undefined: the same object. */
  on?: string;
  types: string[];
}

export interface OutlineRelation {
  name: string;
  line: number;
  /** Who may be given it by warrants; undefined: anybody. */
  allowed?: string[];
  hasRule: boolean;
  dependencies: Dependency[];
}

export interface OutlineType {
  name: string;
  line: number;
  relations: OutlineRelation[];
}

/** Represents where a line of the text belongs. */
export interface Place {
  type?: string;
  relation?: string;
  /** Whether it is within the rule of the relation. */
  isRule: boolean;
  /** Whether it is within the expression of a policy. */
  isPolicy: boolean;
}

export interface Outline {
  types: OutlineType[];
  policies: string[];
  /** The place of each line, from the first on. */
  places: Place[];
}

const NAME = "[A-Za-z0-9_-]+";
const TYPE = new RegExp(`^type\\s+(${NAME})`);
const POLICY = new RegExp(`^policy\\s+(${NAME})`);
const RELATION = new RegExp(`^relation\\s+(${NAME})\\s*(\\[[^\\]]*\\]?)?`);
const INHERIT = new RegExp(`^inherit\\s+(${NAME})(?:\\s+if\\b\\s*(.*))?`);
const DEPENDENCY = new RegExp(`\\brelation\\s+(${NAME})(?:\\s+(?:on|for\\s+all)\\s+(${NAME})\\s*(\\[[^\\]]*\\]?)?)?`, "g");
const COMMENT = /\/\/.*$/;
const STRING = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g;

export function readOutline(text: string): Outline {
  const reader = new OutlineReader();
  for (const [place, line] of text.split("\n").entries()) reader.read(line, place + 1);
  return reader.outline;
}

class OutlineReader {
  readonly outline: Outline = { types: [], policies: [], places: [] };
  private type: OutlineType | undefined;
  private relation: OutlineRelation | undefined;
  /** The column of the `inherit` whose block the lines belong to. */
  private ruleIndent: number | undefined;
  private braces = 0;

  read(line: string, number: number): void {
    if (this.braces > 0) {
      this.countBraces(line);
      this.outline.places.push({ isRule: false, isPolicy: true });
      return;
    }
    const indent = line.length - line.trimStart().length;
    const statement = line.trim().replace(COMMENT, "").trimEnd();
    if (this.ruleIndent !== undefined && indent <= this.ruleIndent && (statement || indent > 0)) this.ruleIndent = undefined;
    if (indent === 0 && statement) this.readDeclaration(line, statement, number);
    else if (this.ruleIndent !== undefined) this.addDependencies(statement);
    else if (statement) this.readMember(indent, statement, number);
    this.outline.places.push({
      type: this.type?.name,
      relation: this.relation?.name,
      isRule: this.ruleIndent !== undefined && indent > this.ruleIndent,
      isPolicy: this.braces > 0,
    });
  }

  private readDeclaration(line: string, statement: string, number: number): void {
    this.type = undefined;
    this.relation = undefined;
    const type = TYPE.exec(statement)?.[1];
    if (type) {
      this.type = { name: type, line: number, relations: [] };
      this.outline.types.push(this.type);
    }
    const policy = POLICY.exec(statement)?.[1];
    if (policy) {
      this.outline.policies.push(policy);
      this.countBraces(line);
    }
  }

  private readMember(indent: number, statement: string, number: number): void {
    const [, name, brackets] = RELATION.exec(statement) ?? [];
    if (name && this.type) {
      this.relation = { name, line: number, allowed: readBrackets(brackets), hasRule: false, dependencies: [] };
      this.type.relations.push(this.relation);
      return;
    }
    const [, inheriting, rule = ""] = INHERIT.exec(statement) ?? [];
    if (!inheriting) return;
    this.relation = this.type?.relations.find((one) => one.name === inheriting);
    this.ruleIndent = indent;
    if (this.relation) this.relation.hasRule = true;
    this.addDependencies(rule);
  }

  private addDependencies(rule: string): void {
    for (const [, relation = "", on, brackets] of rule.matchAll(DEPENDENCY)) {
      const types = (readBrackets(brackets) ?? []).map((one) => one.split(/[:#]/, 1)[0] ?? one);
      this.relation?.dependencies.push(on ? { relation, on, types } : { relation, types: [] });
    }
  }

  private countBraces(line: string): void {
    for (const character of line.replace(STRING, "").replace(COMMENT, "")) {
      if (character === "{") this.braces += 1;
      if (character === "}") this.braces = Math.max(this.braces - 1, 0);
    }
  }
}

function readBrackets(brackets: string | undefined): string[] | undefined {
  if (!brackets) return undefined;
  const inner = brackets.slice(1).replace("]", "");
  return inner
    .split(",")
    .map((one) => one.replace(/\s/g, ""))
    .filter(Boolean);
}

/** Returns the line of a type or of a relation of it, as `document` or `document#viewer`; undefined if it has none. */
export function findLine(outline: Outline, name: string): number | undefined {
  const [type, relation] = name.split("#", 2);
  const found = outline.types.find((one) => one.name === type);
  return found?.relations.find((one) => one.name === relation)?.line ?? found?.line;
}
