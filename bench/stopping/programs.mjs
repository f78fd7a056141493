// How each program is started on a prompt, in a home of its own, against the service at `url`. `limits`, `hooks` and `asksFirst` say what a situation wants of it; a
// program that has no such thing gives undefined, and the situation is none for it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { textOf } from '../lib/measure.mjs'

const own = textOf('halting', fileURLToPath(new URL('../../packages/cli/bin/halting.js', import.meta.url)))

function write(path, value) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
}

const limitFlags = ({ turns, usd } = {}) => [
  ...(turns === undefined ? [] : ['--max-turns', String(turns)]),
  ...(usd === undefined ? [] : ['--max-budget-usd', String(usd)]),
]

const hookSettings = (hooks) =>
  hooks === undefined ? {} : { hooks: Object.fromEntries(Object.entries(hooks).map(([event, command]) => [event, [{ hooks: [{ type: 'command', command }] }]])) }

/** @typedef {{ url: string, home: string, prompt: string, resumes: boolean, limits?: object, hooks?: object, asksFirst?: boolean, peers: string }} Start */

export const programs = {
  halting: {
    start({ url, home, prompt, resumes, limits, hooks, asksFirst }) {
      write(join(home, '.halting/settings.json'), hookSettings(hooks))
      return {
        command: [
          ...[process.execPath, own, '-p', prompt, '--model', 'claude-sonnet-4-5'],
          ...(asksFirst ? [] : ['--permission-mode', 'bypassPermissions']),
          ...(resumes ? ['--continue'] : []),
          ...limitFlags(limits),
        ],
        env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url },
      }
    },
  },
  claude: {
    package: '@anthropic-ai/claude-code',
    start({ url, home, prompt, resumes, limits, hooks, asksFirst, peers }) {
      write(join(home, '.claude/settings.json'), hookSettings(hooks))
      return {
        command: [
          ...[join(peers, '.bin/claude'), '-p', prompt, '--model', 'claude-sonnet-4-5'],
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
    start({ url, home, prompt, resumes, limits, hooks, asksFirst, peers }) {
      if (limits !== undefined) return undefined
      // Its hooks have the form of Claude Code's, and count where a person trusted them.
      if (hooks !== undefined) write(join(home, '.codex/hooks.json'), hookSettings(hooks))
      return {
        command: [
          ...[join(peers, '.bin/codex'), 'exec', ...(resumes ? ['resume', '--last'] : []), '--skip-git-repo-check', '-m', 'gpt-5-codex', '-c', 'model_provider="local"'],
          ...['-c', `model_providers.local={name="local",base_url="${url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`],
          ...(asksFirst ? [] : ['--dangerously-bypass-approvals-and-sandbox']),
          ...(hooks === undefined ? [] : ['--dangerously-bypass-hook-trust']),
          prompt,
        ],
        env: { OPENAI_API_KEY: 'k' },
      }
    },
  },
  pi: {
    package: '@mariozechner/pi-coding-agent',
    start({ url, home, prompt, resumes, limits, hooks, asksFirst, peers }) {
      // It has no limits, no hooks of settings and no permissions.
      if (limits !== undefined || hooks !== undefined || asksFirst) return undefined
      write(join(home, '.pi/agent/models.json'), { providers: { anthropic: { baseUrl: url } } })
      return {
        command: [join(peers, '.bin/pi'), '--provider', 'anthropic', '--model', 'claude-sonnet-4-5', ...(resumes ? ['--continue'] : []), '-p', prompt],
        env: { ANTHROPIC_API_KEY: 'k', PI_OFFLINE: '1' },
      }
    },
  },
  gemini: {
    package: '@google/gemini-cli',
    start({ url, home, prompt, resumes, limits, hooks, asksFirst, peers }) {
      if (limits?.usd !== undefined) return undefined
      // What others call Stop it calls AfterAgent; the answer of the hook is the same.
      write(join(home, '.gemini/settings.json'), {
        ...(hooks !== undefined && hookSettings({ AfterAgent: hooks.Stop })),
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
    start({ url, prompt, resumes, limits, hooks, asksFirst, peers }) {
      if (limits?.usd !== undefined || hooks !== undefined) return undefined
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
}
