import { defineConfig } from "vite";

// The files have the same names in every version, so that they can be committed and compared byte by byte.
export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    outDir: process.env.CONSOLE_FILES ?? "../src/magistrate/console_files",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: "chrome123",
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: true,
    rollupOptions: {
      input: "src/main.tsx",
      output: {
        entryFileNames: "console.js",
        // A part that a page loads on demand has the name of its module; what two of them share is the editor.
        chunkFileNames: ({ isDynamicEntry }) => (isDynamicEntry ? "[name].js" : "editor.js"),
        assetFileNames: "console[extname]",
      },
    },
  },
});
