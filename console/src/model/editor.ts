/** Makes the editor of models. Tab leaves it, so that the keyboard is not caught in it. */

import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { makeCodeEditor, type CodeEditor } from "./code_editor";
import { modelLanguage } from "./language";
import { readOutline } from "./outline";
import { completeLine } from "./suggestions";
import * as words from "../words";

const VALID_FOR = /^[A-Za-z0-9_-]*$/;
const KINDS = { keyword: "keyword", type: "type", relation: "property", policy: "function" } as const;

interface Options {
  parent: HTMLElement;
  text: string;
  isReadOnly: boolean;
  onText: (text: string) => void;
  onLine: (line: number) => void;
}

export function makeEditor(options: Options): CodeEditor {
  return makeCodeEditor({ ...options, label: words.pages.model, language: modelLanguage, indent: "    ", complete });
}

function complete(context: CompletionContext): CompletionResult | null {
  const { doc } = context.state;
  const line = doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const outline = readOutline(doc.toString());
  const found = completeLine(before, outline, outline.places[line.number - 1]);
  const isWritten = found && found.from < before.length;
  if (!found || !(context.explicit || isWritten || /[[#,]\s*$/.test(before))) return null;
  const options = found.options.map(({ label, kind, detail }) => ({ label, detail, type: KINDS[kind] }));
  return { from: line.from + found.from, options, validFor: VALID_FOR };
}
