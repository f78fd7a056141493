#!/usr/bin/env node
import { isatty } from 'node:tty'

// Small on purpose: `--version` must not load the program. test/version.test.ts holds the text below to package.json.
const first = process.argv[2]

if (first === '-v' || first === '--version') {
  process.stdout.write('2.1.0 (halting 0.1.0)\n')
} else {
  keepCompiledCode()
  const program = await import('../dist/main.js').catch(async (error) => {
    const { existsSync } = await import('node:fs')
    if (existsSync(new URL('../dist/main.js', import.meta.url))) throw error
    process.stderr.write('halting is not built. Run: npm run build\n')
    process.exit(2)
  })
  const terminals = [0, 1, 2].filter((stream) => isatty(stream))
  const lost = exitWhenStalled()
  const exitCode = await program.main(process.argv.slice(2))
  process.off('beforeExit', lost)
  // Node gives a terminal its mode back when it exits, and aborts where the terminal is gone. By the signal of that it ends without.
  if (terminals.some((stream) => !isatty(stream))) {
    process.removeAllListeners('SIGHUP')
    process.kill(process.pid, 'SIGHUP')
  }
  // At once: no handle that was left open may keep a program that has ended.
  process.exit(exitCode)
}

/**
 * Node would exit with 13, and without a word, where nothing is left that could wake the program. A run that is stalled ends itself first, with its result
 * (spec R-END-10): it gets enough turns of the event loop for that.
 */
function exitWhenStalled() {
  let turnsLeft = 1_000
  const onBeforeExit = () => {
    if (turnsLeft-- > 0) return setImmediate(() => {})
    process.stderr.write('halting: it waited for something that can never come, and ends. Please report this.\n')
    process.exit(1)
  }
  process.on('beforeExit', onBeforeExit)
  return onBeforeExit
}

/**
 * Has Node keep what it compiles for the next run, where it can: 22.1 and later. In a folder of this person's own, not
 * in the one that all users share, which is Node's choice. Where it cannot be written Node does without.
 */
function keepCompiledCode() {
  const { NODE_COMPILE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA, HOME } = process.env
  const folder = XDG_CACHE_HOME || LOCALAPPDATA || (HOME && `${HOME}/.cache`)
  // NODE_COMPILE_CACHE has been heeded by now; NODE_DISABLE_COMPILE_CACHE is heeded here, by Node.
  if (folder && !NODE_COMPILE_CACHE) process.getBuiltinModule('node:module').enableCompileCache?.(`${folder}/halting`)
}
