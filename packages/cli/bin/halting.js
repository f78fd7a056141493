#!/usr/bin/env node
// Small on purpose: `--version` must not load the program. test/version.test.ts holds the text below to package.json.
const first = process.argv[2]

if (first === '-v' || first === '--version') {
  process.stdout.write('2.1.0 (halting 0.1.0)\n')
} else {
  const program = await import('../dist/main.js').catch(async (error) => {
    const { existsSync } = await import('node:fs')
    if (existsSync(new URL('../dist/main.js', import.meta.url))) throw error
    process.stderr.write('halting is not built. Run: npm run build\n')
    process.exit(2)
  })
  // At once: no handle that was left open may keep a program that has ended.
  process.exit(await program.main(process.argv.slice(2)))
}
