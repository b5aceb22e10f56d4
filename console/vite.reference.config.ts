import { defineConfig, mergeConfig } from "vite";
import consoleConfig from "./vite.config.ts";

// The API reference is built beside the console, after it. It has no file in common with it, so neither loads more than
// it needs.
const config = mergeConfig(consoleConfig, { publicDir: false });
export default defineConfig({
  ...config,
  build: {
    ...config.build,
    emptyOutDir: false,
    rollupOptions: {
      input: "src/reference/main.tsx",
      output: { entryFileNames: "reference.js", assetFileNames: "reference[extname]" },
    },
  },
});
