/** Replaces the plain description of the API by one that can be searched and tried. Without this script, or if the
 * document cannot be read, the plain one stays. */

import { render } from "preact";
import type { ApiDocument } from "./document";
import { Reference } from "./reference";
import "../style.css";
import "./reference.css";

async function start(): Promise<void> {
  const answer = await fetch("openapi.json", { credentials: "omit" });
  if (!answer.ok) return;
  const read = (await answer.json()) as ApiDocument;
  const root = document.getElementById("console");
  if (!root) return;
  document.getElementById("plain")?.remove();
  document.querySelector("style")?.remove();
  document.documentElement.dataset.enhanced = "";
  render(<Reference document={read} />, root);
}

void start();
