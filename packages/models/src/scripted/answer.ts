import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { replyMessage, replySteps } from './reply-events.ts'
import type { ReplyContext } from './reply-events.ts'
import type { ScriptedError, ScriptedFault, ScriptedMessage, ScriptedReply } from './script.ts'

export interface AnswerContext extends ReplyContext {
  readonly isStreamed: boolean
  /** Aborted when the server closes. */
  readonly signal: AbortSignal
}

/** Answers one request with one reply; settles when there is nothing more to send. */
export async function answer(reply: ScriptedReply, response: ServerResponse, context: AnswerContext): Promise<void> {
  response.setHeader('request-id', `req_scripted_${context.request}`)
  await pause(reply.delay_ms, context.signal)
  if ('error' in reply) return sendError(reply, response)
  if (reply.fault?.at === 'request') return breakOff(reply.fault, response)
  if (context.isStreamed) return stream(reply, response, context)
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(replyMessage(reply, context)))
}

async function stream(reply: ScriptedMessage, response: ServerResponse, context: AnswerContext): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const step of replySteps(reply, context)) {
    if (step.kind === 'fault') {
      await reachNetwork(response)
      return breakOff(step.fault, response)
    }
    if (response.destroyed) return
    if (!send(response, step.event)) await Promise.race([once(response, 'drain'), once(response, 'close')])
    await pause(reply.pace_ms, context.signal)
  }
  response.end()
}

function send(response: ServerResponse, event: JsonObject): boolean {
  return response.write(`event: ${stringOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** What was written before a connection is cut is to arrive. */
async function reachNetwork(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => void response.write(':\n\n', () => resolve()))
}

function breakOff(fault: ScriptedFault, response: ServerResponse): void {
  switch (fault.kind) {
    case 'hang':
      return
    case 'drop':
      response.destroy()
      return
    case 'error': {
      const error = { type: fault.type ?? 'overloaded_error', message: fault.message ?? 'Overloaded' }
      send(response, { type: 'error', error })
      response.end()
    }
  }
}

const typeOfStatus: { readonly [status: number]: string } = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function sendError({ error }: ScriptedError, response: ServerResponse): void {
  const type = error.type ?? typeOfStatus[error.status] ?? (error.status < 500 ? 'invalid_request_error' : 'api_error')
  const body = { type: 'error', error: { type, message: error.message ?? `The script says ${error.status}.` } }
  response.writeHead(error.status, { 'content-type': 'application/json', ...error.headers }).end(JSON.stringify(body))
}

async function pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (ms !== undefined && ms > 0) await wait(ms, undefined, { signal })
}
