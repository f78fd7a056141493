import type { NotificationChannel } from '@halting/policy/settings'
import type { SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { OpenSession } from './context.ts'
import type { Screen } from '../screen/screen-port.ts'

interface Options {
  readonly screen: Pick<Screen, 'focus' | 'notify' | 'setTitle'>
  readonly channel: () => NotificationChannel
  /** Whether the program may set the title of the terminal. */
  readonly setsTitle: boolean
  /** The name of the folder. */
  readonly place: () => string
  readonly snapshot: () => Pick<SessionSnapshot, 'status' | 'questions' | 'limitQuestion'> | undefined
}

/**
 * Alerts a person whose terminal is not in focus (spec R-TERM-76). The title shows whether a run is working or a
 * question is open; a bell or notification announces a question and the end of a run.
 */
export interface Attention {
  onEvent(event: SessionEvent): void
  /** Called when a part of the session has changed. */
  update(): void
  /** Called when another session is shown. */
  show(open: Pick<OpenSession, 'serverQuestions'>): void
  keyPressed(): void
  close(): void
}

/** Without a key press for this long, the person is assumed to be away, even if the terminal reports the focus. */
const unansweredMs = 30_000

export function createAttention({ screen, channel, setsTitle, place, snapshot }: Options): Attention {
  let title = ''
  let announcedId = ''
  let servers: OpenSession['serverQuestions']
  let timer: NodeJS.Timeout | undefined
  const alert = (text: string): void => {
    // Without a report of the focus, as in many terminals including tmux by default, the person may be away.
    if (screen.focus !== 'here') return screen.notify(text, channel())
    clearTimeout(timer)
    timer = setTimeout(() => screen.notify(text, channel()), unansweredMs)
  }
  const look = (): void => {
    const state = snapshot()
    const [question] = servers?.open ?? []
    const isAsked = question !== undefined || (state !== undefined && isAsking(state))
    const mark = isAsked && markOf(state) !== '' ? '? ' : markOf(state)
    const next = `${mark}halting · ${place()}`
    if (!isAsked) clearTimeout(timer)
    if (question !== undefined && question.id !== announcedId) {
      announcedId = question.id
      alert(`halting asks: the server ${question.server}`)
    }
    if (!setsTitle || next === title) return
    title = next
    screen.setTitle(next)
  }
  return {
    update: look,
    show({ serverQuestions }) {
      servers = serverQuestions
      servers?.listen(look)
      look()
    },
    onEvent(event) {
      look()
      if (event.type === 'run_end' && screen.focus === 'away')
        screen.notify(`halting: ${event.terminal.reason}`, channel())
      const text = questionText(event)
      if (text !== undefined) alert(text)
    },
    keyPressed: () => clearTimeout(timer),
    close: () => clearTimeout(timer),
  }
}

function markOf(state: ReturnType<Options['snapshot']>): string {
  if (state === undefined || state.status === 'idle' || state.status === 'closed') return ''
  return isAsking(state) ? '? ' : '… '
}

function isAsking({ questions, limitQuestion }: NonNullable<ReturnType<Options['snapshot']>>): boolean {
  return questions.length > 0 || limitQuestion !== null
}

function questionText(event: SessionEvent): string | undefined {
  if (event.type === 'question') return `halting asks: ${event.question.toolName}`
  return event.type === 'limit_question' ? 'halting asks: a limit is reached' : undefined
}
