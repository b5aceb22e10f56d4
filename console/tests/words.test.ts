import ts from "typescript";
import { expect, test } from "vitest";
import * as words from "../src/words";

const SOURCES = import.meta.glob<string>("../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
const WORDS = "../src/words.tsx";
/** Commands and files for other programs, styles of a drawing, and a table that is written from the code of the engine. */
const OTHER_LANGUAGES = ["commands_elsewhere.ts", "reference/request.ts", "model/drawing_file.ts", "pinned.ts", "operators.ts"];

/** Attributes whose value is read by people, and those whose value is never. Of others, what looks like a text is one. */
const READ_ATTRIBUTES = ["aria-label", "aria-description", "title", "placeholder", "alt", "label", "legend", "hint", "what", "action"];
const MACHINE_ATTRIBUTES = ["class", "accept", "viewBox", "preserveAspectRatio", "transform", "d", "points"];
/** Names of keys, headers and results that a program compares. */
const NAMES = ["Enter", "Escape", "Tab", "Accept", "Warning", "Authorized", "None", "True", "False", "Authorization"];
/** Files of several lines, selectors, commands, headers, queries, keywords of two words, classes, and orders of lists. */
const CODE = /\n|\[|^(?:magistrate|ApiKey|select) |^(?:of type|for all|name long)$| (?:ASC|DESC)$/;
const PHRASE = /\p{L}{2,}[,.:;]? [\p{L}{]|\} \p{L}{2,}|^\p{Lu}\p{Ll}+[.…?!]?$/u;

/** Returns the literals of a source file that people read, each with its line. */
function listTexts(path: string, source: string): string[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true, path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const texts: string[] = [];

  function add(node: ts.Node, text: string, isRead: boolean): void {
    if (!/\p{L}/u.test(text) || CODE.test(text) || (!isRead && !PHRASE.test(text)) || NAMES.includes(text)) return;
    texts.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${text.trim()}`);
  }

  /** Visits a node; `isRead` says that a literal which is its value is shown. */
  function visit(node: ts.Node, isRead: boolean): void {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isNewExpression(node) && node.expression.getText() === "Error") return;
    if (ts.isJsxText(node)) return add(node, node.text.trim(), true);
    if (ts.isStringLiteralLike(node)) return add(node, node.text, isRead);
    if (ts.isTemplateExpression(node)) {
      add(node, node.head.text + node.templateSpans.map((span) => `{}${span.literal.text}`).join(""), isRead);
      return node.templateSpans.forEach((span) => visit(span.expression, false));
    }
    if (ts.isJsxAttribute(node)) {
      const name = node.name.getText();
      if (node.initializer && !MACHINE_ATTRIBUTES.includes(name)) visit(node.initializer, READ_ATTRIBUTES.includes(name));
      return;
    }
    if (ts.isJsxExpression(node)) {
      const isChild = ts.isJsxElement(node.parent) || ts.isJsxFragment(node.parent);
      return ts.forEachChild(node, (child) => visit(child, isRead || isChild));
    }
    if (ts.isConditionalExpression(node)) {
      visit(node.condition, false);
      visit(node.whenTrue, isRead);
      return visit(node.whenFalse, isRead);
    }
    if (ts.isBinaryExpression(node)) {
      const isValue = [ts.SyntaxKind.PlusToken, ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken];
      const isGuard = node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
      visit(node.left, isRead && isValue.includes(node.operatorToken.kind));
      return visit(node.right, isRead && (isGuard || isValue.includes(node.operatorToken.kind)));
    }
    ts.forEachChild(node, (child) => visit(child, isRead && ts.isParenthesizedExpression(node)));
  }

  visit(file, false);
  return texts;
}

test("all words of the interface are in one file", () => {
  const others = Object.entries(SOURCES).filter(([path]) => path !== WORDS && !OTHER_LANGUAGES.some((name) => path.endsWith(`/${name}`)));

  expect(others.flatMap(([path, source]) => listTexts(path, source))).toEqual([]);
});

test.each([
  "<p>Nothing has happened yet.</p>",
  "<p>{isOpen ? 'open' : words.closed}</p>",
  "<p>{count} {isOne && `warrant`}</p>",
  "<p>{name ?? 'unknown'}</p>",
  "<button title='Close' />",
  "<Busy what={isAll ? 'everything' : name} />",
  "<Fact name='Has everything up to' />",
  "<input value={value} data-text={'by ' + 'rules alone'} />",
  "throw new Refused(400, 'invalid', 'Choose a file first')",
  "const message = `Saved ${count} rows.`",
  "const title = 'Keys'",
])("a text in a source file is found: %s", (source) => {
  expect(listTexts("a.tsx", source)).toHaveLength(1);
});

test.each([
  "import { key } from 'The file'",
  "const kind: 'Some kind' = kindOf(row)",
  "<p class={isLong ? 'name long' : 'name'}>{kind === 'policy' && name}</p>",
  "<p>{words.names.of(`${type}:${id}`)}</p>",
  "<pre>magistrate playground store.fga.yaml</pre>",
  "go('queries', { q: `select * where ${name} is *` })",
  "throw new Error('the example has a warrant that cannot be read')",
])("what people do not read is no text: %s", (source) => {
  expect(listTexts("a.tsx", source)).toEqual([]);
});

test("each of the words is used", () => {
  const used = Object.entries(SOURCES).map(([path, source]) => (path === WORDS ? source : source.replace(/\bwords\./g, ""))).join("\n");
  const names = Object.entries(words).flatMap(([group, texts]) => Object.keys(texts).map((name) => `${group}.${name}`));

  expect(names.filter((name) => !name.startsWith("verbs.") && !new RegExp(`\\b${name}\\b`).test(used))).toEqual([]);
});
