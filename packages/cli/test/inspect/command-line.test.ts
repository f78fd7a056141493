// The command line below an answer on the page, run by bash in another folder, gives the same answer.
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createClusterClient } from '@halting/restate/client'
import { beforeAll, describe, expect, it } from 'vitest'
import { isChromiumInstalled, withBrowser } from '../../../inspector/test/support/browser.ts'
import { servedCluster } from '../support/cluster.ts'
import { toolReply, storeSession, textReply, sessionPath } from '../support/store-session.ts'
import { inspectorStarter } from '../support/inspector.ts'
import { here, installProgram, programPath, type Ended } from '../support/program.ts'
import { sourceAt } from '../../../inspector/test/support/served-source.ts'

installProgram()

const kept = 'aaaaaaaa-0000-4000-8000-000000000001'
/** A folder with special characters for shells, terminals and readers. */
const strange = 'it\'s a "dir" $(touch ran) `touch ran`;&| !x \\ \u202Etxt\u0085 ü\n-rf ~'
const samples = join(import.meta.dirname, '../../../analysis/test/foreign/samples')
const claudeCode = 'cccccccc-0000-4000-8000-000000000001'
const codex = 'dddddddd-0000-4000-8000-000000000001'
const prices = { modelPrices: { 'claude-sonnet-4-5': { input: 777, output: 999 } } }

const inspecting = inspectorStarter()

beforeAll(async () => {
  await storeSession(kept, [
    toolReply(['Read', { file_path: 'a' }]),
    toolReply(['Edit', { file_path: 'a' }]),
    textReply('done'),
  ])
  mkdirSync(join(here(), 'bin'))
  const program = `#!/bin/sh\nexec "${process.execPath}" "${programPath()}" "$@"\n`
  writeFileSync(join(here(), 'bin', 'halting'), program, { mode: 0o755 })
  mkdirSync(join(here(), strange))
  copyFileSync(sessionPath(kept), join(here(), strange, 'x.jsonl'))
  const places = [
    ['.claude/projects/-home', 'claude-code-polling.jsonl', `${claudeCode}.jsonl`],
    ['.codex/sessions/2026', 'codex-rollout-0.jsonl', `rollout-2026-01-01T00-00-00-${codex}.jsonl`],
  ] as const
  for (const [folder, sample, name] of places) {
    mkdirSync(join(here(), folder), { recursive: true })
    copyFileSync(join(samples, sample), join(here(), folder, name))
  }
  writeFileSync(join(here(), 'prices.json'), JSON.stringify(prices))
})

/** The words that bash makes of a pasted line. */
async function pasted(line: string): Promise<Omit<Ended, 'stderr'>> {
  const cwd = mkdtempSync(join(here(), 'elsewhere-'))
  const env = { PATH: `${join(here(), 'bin')}:${process.env['PATH']}`, HOME: here(), COLUMNS: '1000' }
  const bash = spawn('bash', ['--norc', '--noprofile', '-i'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  let stdout = ''
  bash.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  bash.stdin.end(`${line}\nexit $?\n`)
  const status = await new Promise<number | null>((resolve) => bash.once('close', resolve))
  expect(readdirSync(cwd)).toEqual([])
  return { status, stdout }
}

const words = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

describe.skipIf(!isChromiumInstalled)('the command line of what-if on the page (needs chromium)', () => {
  const open = withBrowser()

  /** The page's answer about a limit, and the answer of the line below it. */
  async function shownAndPasted(
    address: string,
    key: string,
    field: string,
    value: string,
  ): Promise<{ readonly verdict: string; readonly line: string; readonly stdout: string; readonly status: unknown }> {
    const { page } = await open(sourceAt(address), { fragment: `#/session/${encodeURIComponent(key)}/1/what-if` })
    await page.getByLabel(field, { exact: true }).fill(value)
    const verdict = await page.locator('.what-if-verdict').innerText()
    const line = (await page.locator('.what-if-command').textContent()) ?? ''
    return { verdict, line, ...(await pasted(line)) }
  }

  it.each([
    { args: [], key: kept, value: '2' },
    { args: ['--all'], key: kept, value: '1' },
    { args: [kept], key: kept, value: '2' },
    { args: [strange], key: 'x', value: '2' },
    { args: [join(strange, 'x.jsonl')], key: 'x', value: '1' },
    { args: ['--claude-code'], key: claudeCode, value: '3' },
    { args: ['--codex'], key: `rollout-2026-01-01T00-00-00-${codex}`, value: '1', said: 'No change: ' },
  ])('gives the same answer: $args', async ({ args, key, value, said = 'Would have stopped' }) => {
    const { address } = await inspecting(args)
    const { verdict, line, stdout, status } = await shownAndPasted(address, key, 'Turns: turns', value)
    expect(line).not.toMatch(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u)
    expect({ line, status }).toEqual({ line, status: 0 })
    expect(verdict).toContain(said)
    expect(words(stdout)).toContain(words(verdict))
  })

  it.each([
    ['--settings', 'prices.json'],
    ['--settings', JSON.stringify({ ...prices, apiKeyHelper: 'echo secret' })],
  ])('uses the same prices, and reveals no secret: %s %s', async (...flags) => {
    const { address } = await inspecting(['--claude-code', ...flags])
    const asked = await shownAndPasted(address, claudeCode, 'Dollars: US dollars', '0.5')
    expect(asked).toMatchObject({ verdict: expect.stringContaining('Would have stopped') as string, status: 0 })
    expect(words(asked.stdout)).toContain(words(asked.verdict))
    expect(asked.line).not.toContain('secret')
  })

  it.each(['s-1', '-an odd "id" $(touch ran)'])('names the cluster of a session: %s', async (id) => {
    const served = await servedCluster([{ content: [{ type: 'text', text: 'hello' }] }])
    try {
      const client = createClusterClient({ ingress: served.url })
      await client.request(id, { type: 'prompt', content: 'go' }, { id: 'p-1' })
      await client.result(id, 'p-1', { wait: true })
      const { address } = await inspecting(['--cluster', served.url, '--admin', served.url])
      const { verdict, line, stdout, status } = await shownAndPasted(address, id, 'Turns: turns', '1')
      expect({ line, status }).toEqual({
        line: expect.stringContaining(`--cluster ${served.url}`) as string,
        status: 0,
      })
      expect(verdict).toContain('No change: ')
      expect(words(stdout)).toContain(words(verdict))
    } finally {
      await served.close()
    }
  })
})
