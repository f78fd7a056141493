// Holds rules of docs/spec: R-CTX-20, R-CTX-20b.
import type { ContextUsage } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { installProgram, run, runHere, script } from './support/program.ts'

installProgram()

test('prints, without a key, what the next request puts into the window', async () => {
  const flags = ['--model', 'claude-haiku-4-5', '--tools', 'Read', '--system-prompt', 'x'.repeat(4_000)]
  const { status, stdout, stderr } = await run(['context', 'y'.repeat(400), ...flags])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const lines = stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' ').trim())
  const used = Number(/about ([\d,]+) of/.exec(stdout)?.[1]?.replaceAll(',', ''))
  const tool = used - 1_000 - 104
  const percent = (tokens: number): string => (tokens / 2_000).toFixed(1)
  expect(lines).toEqual([
    `The next request to claude-haiku-4-5 uses about ${shown(used)} of 200,000 tokens (${percent(used)} %), estimated.`,
    '',
    'system prompt 1,000 0.5 %',
    `tools ${tool} 0.1 %`,
    `Read ${tool}`,
    'your messages 104 0.1 %',
    `free ${shown(200_000 - used)} ${percent(200_000 - used)} %`,
    '',
    'Reading it costs $0.0016 the first time, and $0.0002 while the service has it cached.',
    expect.stringMatching(/^Compacts automatically at 167,000 tokens, and frees at least \d\d,\d{3}\.$/),
    '',
  ])
})

const shown = (count: number): string => count.toLocaleString('en-US')

test('respects the flags and variables of a run', async () => {
  const env = { DISABLE_AUTO_COMPACT: '1' }
  const off = await runHere(['context', '--context-window', '50k', '--tools', ''], { env })
  expect(off.stdout).toContain('of 50,000 tokens (')
  expect(off.stdout).toContain('Automatic compaction is off: a run ends at 47,000 tokens.')
  expect(off.stdout).not.toMatch(/tools|your messages/)
  const unpriced = await runHere(['context', '--script', script([{ content: 'never said' }])])
  expect(unpriced.stdout).toContain('scripted has no known price. halting models lists models with prices.')
})

test.each([['--json'], ['--output-format', 'json']])(
  'prints one JSON object with %s %s, whose parts add up',
  async (...json) => {
    const { status, stdout } = await runHere(['context', 'Fix it.', '--autocompact', '100k', ...json])
    expect(status).toBe(0)
    const usage = JSON.parse(stdout) as ContextUsage
    expect(usage.parts.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(usage.figures.usedTokens)
    expect(usage).toMatchObject({
      model: 'claude-sonnet-5-5',
      isCounted: false,
      autoCompact: { atTokens: 100_000 },
      figures: { windowTokens: 1_000_000, thresholds: { compaction: 100_000, blocking: null } },
    })
    expect(usage.parts.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['system', 'tool', 'person']))
  },
)

test.each([
  [['check'], { halts: true }],
  [['models', 'claude-haiku-4-5-'], { models: [{ name: 'claude-haiku-4-5-20251001' }] }],
] as const)('accepts --json for %j, too', async (args, printed) => {
  expect(JSON.parse((await run([...args, '--json'])).stdout)).toMatchObject(printed)
})

test('suggests the command for a similar word', async () => {
  expect((await run(['contex'])).stderr).toContain('Did you mean halting context?')
  expect((await run(['compact'])).stderr).toContain('Instead: runs compact automatically; --autocompact sets when.')
})
