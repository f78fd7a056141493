import type { WorkerEvent } from '@halting/restate'
import { many, oneLine } from '../io/figures.ts'

const mostOfId = 80
const mostOfWords = 1_000

/** What changed with a worker, in one line for people. */
export function workerEventWords(event: WorkerEvent): string {
  switch (event.type) {
    case 'session_waiting':
      return `${sessionIn(event)}: waits for a place (--concurrency)`
    case 'session_started':
      return `${sessionIn(event)}: started here`
    case 'session_resting':
      return `${sessionIn(event)}: rests until something happens`
    case 'session_ended':
      return `${sessionIn(event)}: nothing left to do${event.reason === undefined ? '' : `, last run: ${event.reason}`}`
    case 'session_left':
      return `${sessionIn(event)}: left, ${oneLine(event.because, mostOfWords)}`
    case 'session_moved':
      return `${sessionIn(event)}: moved${placeIn('from', event.from)}${placeIn('to', event.to)}`
    case 'session_set_aside':
      return `${sessionIn(event)}: set aside, ${oneLine(event.because, mostOfWords)}`
    case 'session_released':
      return `${sessionIn(event)}: released`
    case 'sessions_removed':
      return `removed ${many(event.count, 'session')} that nobody has used for longer than --retain`
    case 'worker_lost':
      return `the worker ${event.address} does not answer any more`
    case 'worker_back':
      return `the worker ${event.address} answers again`
    case 'giving_way':
      return `${event.address} takes over the sessions of this worker`
    case 'staying':
      return 'no other worker takes over: this worker runs sessions again'
    case 'ready':
      return event.isReady ? 'ready' : `not ready: ${oneLine(event.because ?? 'no reason is known', mostOfWords)}`
    case 'trouble': {
      const about = event.session === undefined ? '' : `${oneLine(event.session, mostOfId)}: `
      return about + oneLine(event.message, mostOfWords)
    }
  }
}

function sessionIn({ session, tenant }: { readonly session: string; readonly tenant?: string }): string {
  const whose = tenant === undefined ? '' : ` (${oneLine(tenant, mostOfId)})`
  return `${oneLine(session, mostOfId)}${whose}`
}

function placeIn(word: string, address: string | undefined): string {
  return address === undefined ? '' : ` ${word} ${oneLine(address, mostOfId)}`
}
