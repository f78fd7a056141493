import type { WorkerEvent } from '@halting/restate'
import { redactSecrets } from '@halting/agent'
import type { logFormats } from '../flags/flags.ts'
import { programMessageLines, many, money, oneLine, programMessage } from '../io/figures.ts'
import type { Output } from '../io/output.ts'

const maxIdColumns = 80
const maxMessageLength = 1_000

/** The log of a worker on stderr, one line per event. */
export interface WorkerLog {
  readonly event: (event: WorkerEvent) => void
  /** Logs a message about the worker that is not an event. */
  readonly say: (message: string) => void
  /** For the output of a session: its lines begin with the session ID. */
  readonly ofSession: (session: string) => (text: string) => void
}

interface WorkerLogOptions {
  readonly format: (typeof logFormats)[number]
  readonly output: Pick<Output, 'err'>
  /** The address of this worker; undefined until it listens. */
  readonly worker: () => string | undefined
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export function workerLog({ format, output, worker, now = Date.now }: WorkerLogOptions): WorkerLog {
  if (format === 'text')
    return {
      event: (event) => output.err(programMessage(eventText(event))),
      say: (message) => output.err(programMessage(redactSecrets(message))),
      ofSession: (session) => (text) =>
        output.err(redactSecrets(text).replaceAll(/^halting: /gm, () => `halting: ${oneLine(session, 40)}: `)),
    }
  const write = (level: string, event: string, fields: object): void => {
    const line = { time: new Date(now()).toISOString(), level, event, worker: worker(), ...fields }
    output.err(`${escapeControls(JSON.stringify(line))}\n`)
  }
  const messages = (text: string, fields: object): void => {
    for (const line of programMessageLines(text)) write('info', 'message', { ...fields, message: messageText(line) })
  }
  return {
    event(event) {
      const fields = Object.entries(event).flatMap(([name, value]: [string, unknown]) =>
        ['type', 'level', 'message'].includes(name)
          ? []
          : [[name, typeof value === 'string' ? messageText(value) : value]],
      )
      write(levelOf(event), event.type, { ...Object.fromEntries(fields), message: messageText(eventPredicate(event)) })
    },
    say: (message) => messages(message, {}),
    ofSession: (session) => (text) => messages(text, { session: messageText(session) }),
  }
}

/** Escapes characters that control terminals, reverse text direction or end lines for some readers. */
function escapeControls(json: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is escaped
  return json.replaceAll(/[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}

function messageText(text: string): string {
  const clean = redactSecrets(text)
  return clean.length <= maxMessageLength ? clean : `${clean.slice(0, maxMessageLength - 1)}…`
}

function levelOf(event: WorkerEvent): 'info' | 'warn' | 'error' {
  switch (event.type) {
    case 'trouble':
      return event.level
    case 'session_set_aside':
    case 'worker_lost':
      return 'error'
    case 'ready':
      return event.isReady ? 'info' : 'error'
    default:
      return 'info'
  }
}

/** One line about an event, beginning with the session. */
function eventText(event: WorkerEvent): string {
  if (!('session' in event) || event.session === undefined) return eventPredicate(event)
  const tenant = 'tenant' in event && event.tenant !== undefined ? ` (${oneLine(event.tenant, maxIdColumns)})` : ''
  return `${oneLine(event.session, maxIdColumns)}${tenant}: ${eventPredicate(event)}`
}

function eventPredicate(event: WorkerEvent): string {
  switch (event.type) {
    case 'session_waiting':
      return 'waiting for a free slot (--concurrency)'
    case 'session_started':
      return 'started here'
    case 'session_resting':
      return 'idle until the next event'
    case 'run_ended': {
      const { reason, usd, requests, toolCalls } = event
      return `run ended, ${reason}: ${many(requests, 'request')}, ${many(toolCalls, 'tool call')}, ${money(usd)}`
    }
    case 'session_ended':
      return `nothing left to do${event.reason === undefined ? '' : `, last run: ${event.reason}`}`
    case 'session_left':
      return `left, ${clause(event.because)}`
    case 'session_moved':
      return `moved${addressPhrase('from', event.from)}${addressPhrase('to', event.to)}`
    case 'session_set_aside':
      return `set aside, ${clause(event.because)}`
    case 'session_released':
      return 'released'
    case 'sessions_removed':
      return `removed ${many(event.count, 'session')} not used for longer than --retain`
    case 'worker_lost':
      return `the worker ${oneLine(event.address, maxIdColumns)} no longer answers`
    case 'worker_back':
      return `the worker ${oneLine(event.address, maxIdColumns)} answers again`
    case 'giving_way':
      return `${oneLine(event.address, maxIdColumns)} takes over the sessions of this worker`
    case 'staying':
      return 'no other worker takes over: this worker runs sessions again'
    case 'ready':
      return event.isReady ? 'ready' : `not ready: ${clause(event.because ?? 'no reason is known')}`
    case 'trouble':
      return clause(event.message)
  }
}

/** An error message may contain a key. The message is redacted before the text is truncated, since a part of a key would not be recognized. */
function clause(text: string): string {
  return oneLine(redactSecrets(text), maxMessageLength)
}

function addressPhrase(word: string, address: string | undefined): string {
  return address === undefined ? '' : ` ${word} ${oneLine(address, maxIdColumns)}`
}
