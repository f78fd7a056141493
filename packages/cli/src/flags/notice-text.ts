import type { SessionNotice } from '@halting/agent/session-settings'
import { counted, many, oneLine } from '../io/figures.ts'

type Ignored = (SessionNotice & { readonly kind: 'trust_needed' })['ignored']

/** The text of a session notice for the user. */
export function noticeText(notice: SessionNotice): string {
  switch (notice.kind) {
    case 'instructions':
    case 'agents':
    case 'prompt':
      return oneLine(notice.text, 500)
    case 'server':
    case 'hook':
      return oneLine(notice.text, Infinity)
    case 'instructions_read': {
      const by = notice.importedBy === undefined ? '' : `, imported by ${oneLine(notice.importedBy, 200)}`
      return `read ${oneLine(notice.path, 200)} (${counted(notice.characters)} characters${by})`
    }
    case 'memory_read':
      return `read ${oneLine(notice.path, 200)} and its topics (${counted(notice.characters)} characters)`
    case 'untrusted_settings':
      return untrustedText(notice)
    case 'trust_needed':
      return trustAdvice(notice.ignored)
    case 'plugin_problem': {
      const { plugin, message, path } = notice.problem
      const what = path === undefined ? `the plugin ${plugin}` : `there is no plugin in ${oneLine(path, 200)}`
      return oneLine(`${what}: ${message}.`, 500)
    }
    case 'plugin_hooks_off':
      return `hooks of plugins (${notice.plugins.join(', ')}) are ignored because of ${notice.setting} in ${oneLine(notice.from, 200)}.`
    case 'unreadable_agents':
      return `The value of --agents ${notice.problem}. Use JSON: {"name": {"description": "…", "prompt": "…"}}.`
    case 'unknown_tool': {
      const { name, nearest, known } = notice
      const meant = nearest === undefined ? '' : ` (did you mean ${nearest}?)`
      return `--tools: unknown tool ${name}${meant}. Use names from ${known.toSorted().join(', ')}, default for all, or "" for none.`
    }
    case 'unknown_agent': {
      const { name, nearest, known } = notice
      const names = known.length === 0 ? 'No agents are defined.' : `Agents: ${known.slice(0, 20).join(', ')}.`
      return `--agent: unknown agent ${oneLine(name, 100)}${nearest === undefined ? '' : ` (did you mean ${nearest}?)`}. ${names}`
    }
    case 'commands_stopped':
      return `stopped with the run: ${notice.commands.join('; ')}.`
    case 'run_left_open':
      return 'the previous run was interrupted. It is closed first; unfinished tool calls are reported as unknown.'
    case 'session_taken_over':
      return `continuing a session of ${notice.program} as session ${notice.sessionId} (${notice.path} is not changed)`
    case 'no_price':
      return noPriceText(notice)
    case 'session_not_stored':
      return `this session is not stored: ${notice.why}`
    case 'checkpoints_stopped':
      return `file contents are no longer saved, so halting undo cannot restore them: ${notice.problem}`
    case 'sessions_removed':
      return `removed ${many(notice.sessions, 'session')} not used for ${many(notice.days, 'day')} (cleanupPeriodDays).`
    case 'sandbox_file_created':
      return `a sandboxed command created ${oneLine(notice.path, 300)}, which programs outside the sandbox execute. Inspect it before you continue.`
    case 'confined_file_taken_back':
    case 'confined_command_unchecked':
    case 'edits_unconfined':
      return confinementText(notice)
    case 'budgets_ignored':
      return notice.uncounted === undefined
        ? `standing budgets are not enforced in this session (${notice.budgets.join(', ')}); its cost is recorded if the model has a price.`
        : `the cost of this session is not recorded for standing budgets: ${oneLine(notice.uncounted, 500)}`
    case 'sandbox_network_refused':
      return `the sandbox refused the network: ${notice.host}: ${notice.why}`
  }
}

function untrustedText({ folder, ignored }: SessionNotice & { readonly kind: 'untrusted_settings' }): string {
  const path = oneLine(folder.folder, 200)
  return folder.trusted
    ? `Ignored because it was added after you trusted ${path}: ${settingCounts(ignored)}. ${trustAdvice(ignored)}`
    : `Ignored until you trust ${path} (${folder.because}): ${settingCounts(ignored)}. ${trustAdvice(ignored)}`
}

function confinementText(
  notice: SessionNotice & {
    readonly kind: 'confined_file_taken_back' | 'confined_command_unchecked' | 'edits_unconfined'
  },
): string {
  switch (notice.kind) {
    case 'confined_file_taken_back':
      return `a confined command created ${oneLine(notice.path, 300)}, which programs outside of its confinement obey. It was moved to ${oneLine(notice.movedTo, 300)}.`
    case 'confined_command_unchecked':
      return `what a confined command created could not be checked: ${oneLine(notice.why, 500)}. Inspect the folder before you continue.`
    case 'edits_unconfined':
      return `in acceptEdits, most commands could run confined instead of asking, but ${oneLine(notice.why, 300)}. ${oneLine(notice.todo, 500)}`
  }
}

function noPriceText(notice: SessionNotice & { readonly kind: 'no_price' }): string {
  const { models, maxRunUsd, maxBudgetUsd, maxTurns, from } = notice
  const limits = [
    ...(maxRunUsd === undefined ? [] : [`$${maxRunUsd}${from === undefined ? '' : ` (${from})`}`]),
    ...(maxBudgetUsd === undefined ? [] : [`$${maxBudgetUsd} of the session`]),
  ]
  const turns = maxTurns === Infinity ? 'there is no other limit' : `the run ends after ${many(maxTurns, 'turn')}`
  return oneLine(
    `no price is known for ${models.join(', ')}, so the limit of ${limits.join(' or ')} cannot be enforced; ${turns}. Set --max-turns, or a price with modelPrices in your settings.`,
    500,
  )
}

function trustAdvice(waiting: Ignored): string {
  const named = waiting.filter(({ onlyByName }) => onlyByName === true)
  if (named.length === waiting.length) return 'Review with `halting trust`.'
  return `Review with \`halting trust\`, or trust for one run with --trust${named.length === 0 ? '' : ` (except ${settingCounts(named)})`}.`
}

function settingCounts(waiting: Ignored): string {
  const counts = new Map<string, number>()
  for (const { setting } of waiting) counts.set(setting, (counts.get(setting) ?? 0) + 1)
  return [...counts].map(([setting, count]) => (count === 1 ? setting : `${setting} (${count})`)).join(', ')
}
