import type { SessionChoices } from '../open-session/choices.ts'
import type { SessionNotice } from '../open-session/ports.ts'

/** What the options of `codingAgent` are called that have another name among the choices of a session. */
const names: { readonly [choice in keyof SessionChoices]: string } = {
  addDir: 'additionalDirectories',
  tools: 'codingTools',
  maxTokens: 'maxTotalTokens',
  maxDuration: 'maxDurationMs',
  waitForLimits: 'waitForLimitsMs',
}

/** The name of a choice in the options of `codingAgent`. */
export function nameOfOption(choice: keyof SessionChoices): string {
  return names[choice] ?? choice
}

/** A notice in words for a program that has none of its own. */
export function noticeText(notice: SessionNotice): string {
  switch (notice.kind) {
    case 'instructions':
    case 'agents':
    case 'prompt':
    case 'server':
    case 'hook':
      return notice.text
    case 'instructions_read':
    case 'memory_read':
      return `read ${notice.path}`
    case 'untrusted_settings': {
      const { trusted, folder, because } = notice.folder
      const what = trusted ? 'was not trusted with' : 'is not trusted: these of its settings do not count:'
      return `${folder} ${what} ${settingsIn(notice)} (${because}). halting trust shows them and has them count.`
    }
    case 'trust_needed':
      return 'halting trust shows them and has them count.'
    case 'plugin_problem':
      return `the plugin ${notice.problem.plugin}: ${notice.problem.message}.`
    case 'plugin_hooks_off':
      return `hooks of plugins (${notice.plugins.join(', ')}) do not count: ${notice.setting} in ${notice.from}.`
    case 'unreadable_agents':
      return `What agents gives ${notice.problem}. It takes { name: { description: '…', prompt: '…' } }.`
    case 'unknown_agent':
      return `There is no agent ${notice.name}.`
    case 'unknown_tool':
      return `codingTools takes names of ${[...notice.known, 'Skill'].join(', ')}; there is no ${notice.name}.`
    case 'commands_stopped':
      return `stopped with the session: ${notice.commands.join('; ')}`
    case 'run_left_open':
      return 'The last run did not end. It is closed first.'
    case 'session_taken_over':
      return `continues a session of ${notice.program} (${notice.path}) as the session ${notice.sessionId}`
    case 'no_price':
      return `there is no price for ${notice.models.join(', ')}, so that limits of dollars in the settings do not hold; maxTurns is ${notice.maxTurns}`
    case 'session_not_stored':
      return `this session is not stored: ${notice.why}`
    case 'checkpoints_stopped':
      return `what files were is not kept any more: ${notice.problem}`
    case 'sessions_removed':
      return `removed ${notice.sessions} sessions that nobody used for ${notice.days} days`
    case 'sandbox_file_created':
      return `a command in the sandbox has made ${notice.path}, which programs obey outside of it`
    case 'budgets_ignored':
      return notice.uncounted === undefined
        ? `standing budgets are ignored: ${notice.budgets.join(', ')}`
        : `what is spent is not counted for standing budgets: ${notice.uncounted}`
    case 'sandbox_network_refused':
      return `the sandbox refused the network: ${notice.host}: ${notice.why}`
  }
}

function settingsIn({ ignored }: SessionNotice & { readonly kind: 'untrusted_settings' }): string {
  return [...new Set(ignored.map(({ setting }) => setting))].join(', ')
}
