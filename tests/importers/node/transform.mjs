// Reads a JSON array of models as text, and prints an array of their JSON, or of the message of the error.
import { readFileSync } from "node:fs";
import { transformer } from "@openfga/syntax-transformer";

const results = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  try {
    return { model: transformer.transformDSLToJSONObject(text) };
  } catch (error) {
    return { error: String(error.message) };
  }
});
console.log(JSON.stringify(results));
