// Bundles packages/cli/src/main.ts and what it imports into packages/cli/dist, so that the program starts quickly.
// What is loaded with import() becomes a chunk of its own and costs nothing until it is used.
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const cli = new URL('../packages/cli/', import.meta.url)
rmSync(new URL('dist/chunks', cli), { recursive: true, force: true })

await build({
  absWorkingDir: fileURLToPath(cli),
  entryPoints: { main: 'src/main.ts' },
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // Finds its binary next to its own file.
  external: ['@vscode/ripgrep'],
  // CommonJS packages inside an ES module still call require().
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
})
