// How each program is started with a prompt, in a home of its own, against the service at `url`. `limits`, `hooks`, `asksFirst` and `aim` are what a situation requires of it.
// A program without such a feature returns undefined, and the situation does not apply to it. `until` of an aim are commands that must exit 0: a program without goals runs
// them in a stop hook, or in an extension as its own documents show it.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { textOf } from '../lib/measure.mjs'
import { ownBudgetUsd } from './own.mjs'

const own = textOf('halting', fileURLToPath(new URL('../../packages/cli/bin/halting.js', import.meta.url)))

function write(path, value) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
}

const limitFlags = ({ turns, usd } = {}) => [
  ...(turns === undefined ? [] : ['--max-turns', String(turns)]),
  ...(usd === undefined ? [] : ['--max-budget-usd', String(usd)]),
]

const hookSettings = (hooks, timeout) =>
  hooks === undefined
    ? {}
    : { hooks: Object.fromEntries(Object.entries(hooks).map(([event, command]) => [event, [{ hooks: [{ type: 'command', command, ...(timeout !== undefined && { timeout }) }] }]])) }

/** A stop hook that runs the commands in the folder of the work. If one fails, it sends the answer back with the end of that command's output. The agent does not see its file. */
function untilHooks(home, { until }) {
  if (until === undefined) return undefined
  const script = join(home, 'until.sh')
  const checks = until.map((command) => `out=$(bash -c ${quoted(command)} 2>&1) || { echo "$out" | tail -20 >&2; exit 2; }`)
  write(script, ['#!/bin/sh', 'cat > /dev/null', `cd ${quoted(join(home, 'work'))} || exit 1`, ...checks, ''].join('\n'))
  chmodSync(script, 0o755)
  return { Stop: script }
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`
const repeated = (flag, values = []) => values.flatMap((value) => [flag, value])

/** The flags of halting for an aim. */
const aimFlags = ({ until, goal, protect, checkSeconds, skipIfMet }) => [
  ...repeated('--until', until),
  ...repeated('--goal', goal === undefined ? [] : [goal]),
  ...repeated('--protect', protect),
  ...(checkSeconds === undefined ? [] : ['--until-timeout', `${checkSeconds}s`]),
  ...(skipIfMet ? ['--skip-if-met'] : []),
]

/**
 * `before`: what the program wrote before it is started again.
 * @typedef {{ until?: readonly string[], goal?: string, protect?: readonly string[], checkSeconds?: number, skipIfMet?: boolean, needsJudge?: boolean, resumesAlone?: boolean, isBounded?: boolean, waits?: boolean, loop?: { every: string, rounds: number, until: string } }} Aim
 * @typedef {{ url: string, home: string, prompt: string, resumes: boolean, before?: string, limits?: object, hooks?: object, asksFirst?: boolean, aim: Aim, peers: string }} Start
 */

/** Before it settles, it runs the commands, and continues while one of them fails. */
const piExtension = (script, seconds = 600) => `
export default function (pi) {
  pi.on('agent_before_settle', async (event) => {
    const { code, stderr } = await pi.exec('sh', ['-c', ${JSON.stringify(`${script} < /dev/null`)}], { timeout: ${seconds * 1_000} })
    if (code === 0) return
    const content = 'The check failed: ' + stderr
    return { entries: [...event.entries, { type: 'custom_message', customType: 'until', content, display: true }], continue: true }
  })
}
`

export const programs = {
  halting: {
    start({ url, home, prompt, resumes, before, limits, hooks, asksFirst, aim }) {
      write(join(home, '.halting/settings.json'), hookSettings(hooks))
      const budget = aim.isBounded ? { usd: ownBudgetUsd, ...limits } : limits
      const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }
      if (aim.loop !== undefined) {
        const { every, rounds, until } = aim.loop
        const flags = ['--every', every, '--rounds', String(rounds), '--until', until, '--model', 'claude-sonnet-4-5', '--permission-mode', 'bypassPermissions']
        return { command: [process.execPath, own, 'loop', prompt, ...flags], env }
      }
      const [, offered] = /^Resume: halting (.*)$/m.exec(before ?? '') ?? []
      if (offered !== undefined) return { command: ['bash', '-c', `exec ${quoted(process.execPath)} ${quoted(own)} ${offered} --max-budget-usd ${ownBudgetUsd}`], env }
      return {
        command: [
          ...[process.execPath, own, '-p', ...(resumes && aim.resumesAlone ? [] : [prompt]), '--model', 'claude-sonnet-4-5'],
          ...(asksFirst ? [] : ['--permission-mode', 'bypassPermissions']),
          ...(resumes ? ['--continue'] : aimFlags(aim)),
          ...(aim.waits ? ['--wait-for-limits', '1h'] : []),
          ...limitFlags(budget),
        ],
        env,
      }
    },
  },
  claude: {
    package: '@anthropic-ai/claude-code',
    start({ url, home, prompt, resumes, limits, hooks, asksFirst, aim, peers }) {
      if (aim.loop !== undefined || aim.skipIfMet) return undefined
      const { goal, protect, checkSeconds } = aim
      write(join(home, '.claude/settings.json'), {
        ...hookSettings(hooks ?? untilHooks(home, aim), checkSeconds),
        ...(protect !== undefined && { permissions: { deny: protect.map((glob) => `Edit(./${glob})`) } }),
      })
      return {
        command: [
          ...[join(peers, '.bin/claude'), '-p', goal === undefined || resumes ? prompt : `/goal ${goal}`, '--model', 'claude-sonnet-4-5'],
          ...(asksFirst ? [] : ['--allowedTools', 'Bash']),
          ...(resumes ? ['--continue'] : []),
          ...limitFlags(limits),
        ],
        env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
      }
    },
  },
  codex: {
    package: '@openai/codex',
    start({ url, home, prompt, resumes, limits, hooks: given, asksFirst, aim, peers }) {
      // If a goal is in words, its model itself reports that it is reached: nothing judges it.
      if (aim.loop !== undefined || limits !== undefined || aim.protect !== undefined || aim.skipIfMet || aim.needsJudge) return undefined
      const provider = ['-c', 'model_provider="local"', '-c', `model_providers.local={name="local",base_url="${url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`]
      if (aim.goal !== undefined) {
        const driver = fileURLToPath(new URL('codex-goal.mjs', import.meta.url))
        return { command: [process.execPath, driver, join(peers, '.bin/codex'), aim.goal, '-c', 'model="gpt-5-codex"', ...provider], env: { OPENAI_API_KEY: 'k' } }
      }
      const hooks = given ?? untilHooks(home, aim)
      // Its hooks have the form of Claude Code's, and only run if a person trusted them.
      if (hooks !== undefined) write(join(home, '.codex/hooks.json'), hookSettings(hooks, aim.checkSeconds))
      return {
        command: [
          ...[join(peers, '.bin/codex'), 'exec', ...(resumes ? ['resume', '--last'] : []), '--skip-git-repo-check', '-m', 'gpt-5-codex', ...provider],
          ...(asksFirst ? [] : ['--dangerously-bypass-approvals-and-sandbox']),
          ...(hooks === undefined ? [] : ['--dangerously-bypass-hook-trust']),
          prompt,
        ],
        env: { OPENAI_API_KEY: 'k' },
      }
    },
  },
  pi: {
    package: '@earendil-works/pi-coding-agent',
    start({ url, home, prompt, resumes, limits, hooks, asksFirst, aim, peers }) {
      // It has no limits, no hooks in settings and no permissions; an extension may send an answer back.
      if (aim.loop !== undefined || limits !== undefined || hooks !== undefined || asksFirst || aim.protect !== undefined || aim.goal !== undefined || aim.skipIfMet) return undefined
      const until = untilHooks(home, aim)
      if (until !== undefined) write(join(home, '.pi/agent/extensions/until.ts'), piExtension(until.Stop, aim.checkSeconds))
      write(join(home, '.pi/agent/models.json'), { providers: { anthropic: { baseUrl: url } } })
      return {
        command: [join(peers, '.bin/pi'), '--provider', 'anthropic', '--model', 'claude-sonnet-4-5', ...(resumes ? ['--continue'] : []), '-p', prompt],
        env: { ANTHROPIC_API_KEY: 'k', PI_OFFLINE: '1' },
      }
    },
  },
  gemini: {
    package: '@google/gemini-cli',
    start({ url, home, prompt, resumes, limits, hooks: given, asksFirst, aim, peers }) {
      if (aim.loop !== undefined || limits?.usd !== undefined || aim.protect !== undefined || aim.goal !== undefined || aim.skipIfMet) return undefined
      const hooks = given ?? untilHooks(home, aim)
      const timeout = aim.checkSeconds === undefined ? undefined : aim.checkSeconds * 1_000
      // Its name for the Stop hook of others is AfterAgent; the answer of the hook is the same.
      write(join(home, '.gemini/settings.json'), {
        ...(hooks !== undefined && hookSettings({ AfterAgent: hooks.Stop }, timeout)),
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        ...(limits?.turns !== undefined && { model: { maxSessionTurns: limits.turns } }),
      })
      return {
        command: [
          ...[join(peers, '.bin/gemini'), '--skip-trust', '-m', 'gemini-2.5-flash'],
          ...(asksFirst ? [] : ['--yolo']),
          ...(resumes ? ['--resume', 'latest'] : []),
          ...['-p', prompt],
        ],
        env: { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: 'true' },
      }
    },
  },
  opencode: {
    package: 'opencode-ai',
    start({ url, prompt, resumes, limits, hooks, asksFirst, aim, peers }) {
      // A plugin learns that a session is idle, and may prompt again, but `opencode run` has ended by then. So nothing can send an answer back.
      if (aim.loop !== undefined || limits?.usd !== undefined || hooks !== undefined || aim.until !== undefined || aim.goal !== undefined) return undefined
      const config = {
        autoupdate: false,
        provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: 'k' } } },
        ...(asksFirst && { permission: { bash: 'ask' } }),
        ...(limits?.turns !== undefined && { agent: { build: { steps: limits.turns } } }),
      }
      return {
        command: [join(peers, '.bin/opencode'), 'run', '--model', 'anthropic/claude-sonnet-4-5', ...(resumes ? ['--continue'] : []), prompt],
        env: { ANTHROPIC_API_KEY: 'k', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_CONFIG_CONTENT: JSON.stringify(config) },
      }
    },
  },
  qwen: {
    package: '@qwen-code/qwen-code',
    start({ url, home, prompt, resumes, limits, hooks: given, asksFirst, aim, peers }) {
      if (aim.loop !== undefined || limits?.usd !== undefined || aim.protect !== undefined || aim.skipIfMet) return undefined
      const hooks = given ?? untilHooks(home, aim)
      const timeout = aim.checkSeconds === undefined ? undefined : aim.checkSeconds * 1_000
      write(join(home, '.qwen/settings.json'), {
        ...hookSettings(hooks, timeout),
        security: { auth: { selectedType: 'anthropic' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      })
      return {
        command: [
          ...[join(peers, '.bin/qwen'), '--auth-type', 'anthropic', '-m', 'claude-sonnet-4-5'],
          ...(asksFirst ? [] : ['--yolo']),
          ...(resumes ? ['--continue'] : []),
          ...(limits?.turns === undefined ? [] : ['--max-session-turns', String(limits.turns)]),
          ...['-p', aim.goal === undefined || resumes ? prompt : `/goal ${aim.goal}`],
        ],
        env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: 'claude-sonnet-4-5', QWEN_CODE_NO_RELAUNCH: 'true' },
      }
    },
  },
}
