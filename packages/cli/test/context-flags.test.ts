// Holds rules of docs/spec: R-CTX-3, R-CTX-12 and R-CTX-19.
import { createPermissions } from '@halting/policy'
import { Workspace } from '@halting/agent'
import { anthropic } from '@halting/models'
import { describe, expect, test } from 'vitest'
import type { Flags } from '../src/flags/flags.ts'
import { contextOf } from '@halting/agent/open-session'
import { installProgram, run, script } from './support/program.ts'

installProgram()

const model = anthropic({ model: 'claude-haiku-4-5', apiKey: 'none' })
const cwd = process.cwd()
const toolbox = { workspace: new Workspace({ cwd }), permissions: createPermissions({ cwd }) }

/** The effect of the flags and the environment, for a window of 100,000 tokens or the given one. */
function chosen(flags: Flags, env: Readonly<Record<string, string>> = {}) {
  const { context, contextWindow = null } = contextOf(flags, env, toolbox, undefined)
  const compactsAt = context?.compactionThreshold?.(model, 100_000)
  return { compactsAt, blocksAt: context?.blockingLimit(model, 100_000), contextWindow }
}

const auto = { compactsAt: 70_000, blocksAt: Infinity, contextWindow: null }
const off = { compactsAt: Infinity, blocksAt: 97_000, contextWindow: null }

describe('the compaction threshold', () => {
  test('follows the window by default', () => {
    expect(chosen({})).toEqual(auto)
    expect(chosen({ autocompact: 'auto' })).toEqual(auto)
  })

  test('follows the flags', () => {
    expect(chosen({ autocompact: '50%' })).toEqual({ ...auto, compactsAt: 40_000 })
    expect(chosen({ autocompact: 30_000 })).toEqual({ ...auto, compactsAt: 30_000 })
    expect(chosen({ contextWindow: 50_000 })).toEqual({ ...auto, contextWindow: 50_000 })
  })

  test('can be off: then the blocking limit applies, since no compaction layer could help', () => {
    expect(chosen({ autocompact: 'off' })).toEqual(off)
    for (const yes of ['1', 'true', 'TRUE', 'yes']) expect(chosen({}, { DISABLE_AUTO_COMPACT: yes })).toEqual(off)
    for (const no of ['0', 'false', '']) expect(chosen({}, { DISABLE_AUTO_COMPACT: no })).toEqual(auto)
  })

  test('follows the environment', () => {
    const env = { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: '50', CLAUDE_CODE_MAX_CONTEXT_TOKENS: '60000' }
    expect(chosen({}, env)).toEqual({ ...auto, compactsAt: 40_000, contextWindow: 60_000 })
    expect(chosen({}, { ...env, DISABLE_AUTO_COMPACT: '1' })).toEqual({ ...off, contextWindow: 60_000 })
  })

  test('prefers flags to the environment, even to an invalid one', () => {
    const env = {
      DISABLE_AUTO_COMPACT: '1',
      CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: 'half',
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: 'large',
    }
    expect(chosen({ autocompact: 'auto', contextWindow: 50_000 }, env)).toEqual({ ...auto, contextWindow: 50_000 })
  })
})

test.each([
  [{ DISABLE_AUTO_COMPACT: 'maybe' }, 'DISABLE_AUTO_COMPACT must be 1 or 0, not "maybe".'],
  [
    { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: '130' },
    'CLAUDE_AUTOCOMPACT_PCT_OVERRIDE must be a percentage from 1 to 100, not "130".',
  ],
  [
    { CLAUDE_CODE_MAX_CONTEXT_TOKENS: '200k' },
    'CLAUDE_CODE_MAX_CONTEXT_TOKENS must be a whole number of at least 1000, not "200k".',
  ],
])('refuses %j like other variables', async (env, message) => {
  expect(await run(['-p', 'hi', '--script', script([{ content: 'never said' }])], { env })).toEqual({
    status: 2,
    stdout: '',
    stderr: `halting: ${message}\n`,
  })
})

test('accepts a model name for --compact-model, which needs a price under a dollar budget', async () => {
  const args = ['-p', 'hi', '--max-budget-usd', '1', '--script', script([{ content: 'hello' }], 'claude-haiku-4-5')]
  expect(await run([...args, '--compact-model', 'claude-haiku-4-5'])).toMatchObject({ status: 0, stdout: 'hello\n' })
  const { status, stderr } = await run([...args, '--compact-model', 'nobody'])
  expect(status).toBe(2)
  expect(stderr).toContain('There is no price for nobody')
  const unknown = await run(['check', '--compact-model', 'clade-haiku-4-5'], { env: { ANTHROPIC_API_KEY: 'key' } })
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining('Did you mean claude-haiku-4-5?') })
})

test.each([
  ['/compact', ''],
  ['/compact keep the names', ''],
  ['', '/compact\n'],
])('has no conversation to compact for -p "%s"', async (prompt, stdin) => {
  expect(await run(['-p', prompt], { stdin })).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'halting: There is no conversation to compact: halting -p starts a new one. A run compacts automatically when its context window fills up; --autocompact sets when.\n',
  })
})
