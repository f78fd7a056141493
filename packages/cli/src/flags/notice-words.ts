import type { SessionNotice } from '@halting/agent/session-settings'
import { counted, many, oneLine } from '../io/figures.ts'

type Ignored = (SessionNotice & { readonly kind: 'trust_needed' })['ignored']

/** A notice of a session in the words of the terminal program. */
export function wordNotice(notice: SessionNotice): string {
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
    case 'untrusted_settings': {
      const { folder, ignored } = notice
      const path = oneLine(folder.folder, 200)
      return folder.trusted
        ? `${path} is trusted (${folder.because}), but its settings bring what was not named then and does not count: ${kinds(ignored)}. ${todoFor(ignored)}`
        : `${path} is not trusted (${folder.because}): its ${kinds(ignored)} do not count. ${todoFor(ignored)}`
    }
    case 'trust_needed':
      return todoFor(notice.ignored)
    case 'plugin_problem': {
      const { plugin, message, path } = notice.problem
      const what = path === undefined ? `the plugin ${plugin}` : `the plugin in ${oneLine(path, 200)} is not there`
      return oneLine(`${what}: ${message}.`, 500)
    }
    case 'plugin_hooks_off':
      return `hooks of plugins (${notice.plugins.join(', ')}) do not count: ${notice.setting} in ${oneLine(notice.from, 200)}.`
    case 'unreadable_agents':
      return `What --agents gives ${notice.problem}. It takes JSON: {"name": {"description": "…", "prompt": "…"}}.`
    case 'unknown_tool': {
      const { name, nearest, known } = notice
      const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`
      return `--tools takes names of ${known.toSorted().join(', ')}, default for all, or "" for none; there is no ${name}.${meant}`
    }
    case 'unknown_agent': {
      const { name, nearest, known } = notice
      const names = known.length === 0 ? 'There is none here.' : `There are ${known.slice(0, 20).join(', ')}.`
      return `--agent: there is no agent ${oneLine(name, 100)}.${nearest === undefined ? '' : ` Did you mean ${nearest}?`} ${names}`
    }
    case 'commands_stopped':
      return `stopped with the run: ${notice.commands.join('; ')}.`
    case 'run_left_open':
      return 'the run before did not end. It is closed first: what it had begun and not finished is told as unknown.'
    case 'session_taken_over':
      return `goes on with a session of ${notice.program} (${notice.path}, which stays as it is) as the session ${notice.sessionId}`
    case 'no_price':
      return noPrice(notice)
    case 'session_not_stored':
      return `this session is not kept: ${notice.why}`
    case 'checkpoints_stopped':
      return `what files were is not kept any more, so halting undo cannot bring it back: ${notice.problem}`
    case 'sessions_removed':
      return `removed ${many(notice.sessions, 'session')} not touched for ${many(notice.days, 'day')} (cleanupPeriodDays).`
    case 'sandbox_file_created':
      return `a command in the sandbox has made ${oneLine(notice.path, 300)}, which programs obey outside of it: look at it before you go on`
    case 'budgets_ignored':
      return notice.uncounted === undefined
        ? `standing budgets refuse nothing in this session; what it spends is counted where its model has a price (${notice.budgets.join(', ')}).`
        : `what this session spends is not counted for standing budgets: ${oneLine(notice.uncounted, 500)}`
    case 'sandbox_network_refused':
      return `the sandbox refused the network: ${notice.host}: ${notice.why}`
  }
}

function noPrice(notice: SessionNotice & { readonly kind: 'no_price' }): string {
  const { models, maxRunUsd, maxBudgetUsd, maxTurns, from } = notice
  const limits = [
    ...(maxRunUsd === undefined ? [] : [`$${maxRunUsd}${from === undefined ? '' : ` (${from})`}`]),
    ...(maxBudgetUsd === undefined ? [] : [`$${maxBudgetUsd} of the session`]),
  ]
  const turns = maxTurns === Infinity ? 'nothing else limits it' : `it ends after ${many(maxTurns, 'turn')}`
  return oneLine(
    `there is no price for ${models.join(', ')}, so a run is not limited to ${limits.join(' or ')}: ${turns}. --max-turns says how many, and modelPrices in your settings gives a price.`,
    500,
  )
}

function todoFor(waiting: Ignored): string {
  const shows = 'halting trust shows them and has them count'
  const named = waiting.filter(({ onlyByName }) => onlyByName === true)
  if (named.length === waiting.length) return `${shows}.`
  return `${shows}; --trust does so for one run${named.length === 0 ? '' : `, without ${kinds(named)}`}.`
}

function kinds(waiting: Ignored): string {
  const counts = new Map<string, number>()
  for (const { setting } of waiting) counts.set(setting, (counts.get(setting) ?? 0) + 1)
  return [...counts].map(([setting, count]) => (count === 1 ? setting : `${setting} (${count})`)).join(', ')
}
