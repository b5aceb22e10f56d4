/** Takes what the URL that `magistrate playground` prints has in its fragment, which browsers send to no server: a key to
 * sign in with, and a test file. Both leave the URL at once, so that nobody copies them with it. */

import { key, Refused, signedOutBecause, signIn } from "./api";
import { testFile } from "./pinned";
import * as words from "./words";

const FORM_OF_KEY = /^[\x21-\x7e]+$/;
const MOST_BYTES = 4_194_304; // of a test file

export async function takeLink(): Promise<void> {
  const [path = "", query = ""] = location.hash.split("?", 2);
  const parameters = new URLSearchParams(query);
  const given = parameters.get("key");
  const file = parameters.get("file");
  if (given === null && file === null) return;
  parameters.delete("key");
  parameters.delete("file");
  const rest = parameters.toString();
  history.replaceState(null, "", rest ? `${path}?${rest}` : path);
  dispatchEvent(new Event("hashchange"));
  // Whoever is signed in stays so: a link must not make somebody use the key of somebody else.
  if (given !== null && key.value === null && FORM_OF_KEY.test(given)) await signInWith(given);
  if (file !== null && testFile.value === "") testFile.value = await unpack(file).catch(() => "");
}

async function signInWith(given: string): Promise<void> {
  try {
    await signIn(given);
  } catch (fault) {
    if (!(fault instanceof Refused)) throw fault;
    signedOutBecause.value = words.signIn.linkIsUseless(fault.message);
  }
}

/** Returns the text of a file that was compressed (RFC 1950) and written in base64url; empty if it is too large. */
async function unpack(file: string): Promise<string> {
  const bytes = Uint8Array.from(atob(file.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    chunks.push(read.value);
    size += read.value.length;
    if (size > MOST_BYTES) return "";
  }
  return new Blob(chunks).text();
}
