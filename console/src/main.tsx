import { render } from "preact";
import { key, storeKey } from "./api";
import { requestKey, offerKey } from "./key_handover";
import { takeLink } from "./link_with_key";
import { Shell } from "./shell";
import "./style.css";

void takeLink();
addEventListener("hashchange", () => void takeLink());

offerKey();
if (key.value === null) {
  void requestKey().then((found) => {
    if (found !== undefined && key.value === null) storeKey(found);
  });
}

const root = document.getElementById("console");
if (root) render(<Shell />, root);
