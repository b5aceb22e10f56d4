/** Makes an editor of text: CodeMirror with a language, completion and marks. */

import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { indentUnit, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Validation } from "./faults";
import styles from "./editor.css?inline";
import { faultMarks, setFaults } from "./marks";

export interface EditorOptions<State> {
  parent: HTMLElement;
  text: string;
  /** What a screen reader calls it. */
  label: string;
  language: StreamParser<State>;
  /** How far a line is indented below the one that it belongs to. */
  indent: string;
  complete: (context: CompletionContext) => CompletionResult | null;
  /** What the keys do besides. Without them, Tab leaves the editor. */
  keys?: Extension;
  isReadOnly?: boolean;
  onText: (text: string) => void;
  /** Called with the line of the cursor, from 1. */
  onLine?: (line: number) => void;
}

export interface CodeEditor {
  setText: (text: string) => void;
  showFaults: (found: Validation) => void;
  goTo: (line: number, column?: number) => void;
  destroy: () => void;
}

/** Replaces a selection of several lines by what is typed. If the browser did it, it would join their elements and add
 * inline styles, which the policy of the page refuses and reports. */
function replaceLines(event: InputEvent, view: EditorView): boolean {
  const { doc, selection, readOnly } = view.state;
  const { from, to } = selection.main;
  const isOneLine = doc.lineAt(from).number === doc.lineAt(to).number;
  if (event.inputType !== "insertText" || event.data === null || isOneLine || readOnly || view.composing) return false;
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  event.preventDefault();
  return true;
}

/** Returns a shadow tree in which CodeMirror writes its styles to a style sheet instead of a <style> element. */
function makeRoot(parent: HTMLElement): ShadowRoot {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root.adoptedStyleSheets = [sheet];
  return root;
}

export function makeCodeEditor<State>(options: EditorOptions<State>): CodeEditor {
  const { parent, text, label, onText, onLine } = options;
  const root = makeRoot(parent);
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightActiveLine(),
        history(),
        indentUnit.of(options.indent),
        EditorState.readOnly.of(options.isReadOnly ?? false),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocorrect: "off" }),
        StreamLanguage.define(options.language),
        syntaxHighlighting(classHighlighter),
        autocompletion({ override: [options.complete], icons: false }),
        faultMarks,
        EditorView.domEventHandlers({ beforeinput: replaceLines }),
        options.keys ?? [],
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onText(update.state.doc.toString());
          if (update.docChanged || update.selectionSet) {
            onLine?.(update.state.doc.lineAt(update.state.selection.main.head).number);
          }
        }),
      ],
    }),
  });
  return {
    setText(changed) {
      const { doc, selection } = view.state;
      if (doc.toString() === changed) return;
      const head = Math.min(selection.main.head, changed.length);
      view.dispatch({ changes: { from: 0, to: doc.length, insert: changed }, selection: { anchor: head } });
    },
    showFaults(found) {
      view.dispatch({ effects: setFaults.of(found) });
    },
    goTo(line, column = 1) {
      const { from, to } = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      const place = Math.min(from + column - 1, to);
      view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "center" }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
