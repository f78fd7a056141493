import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { replyMessage, replySteps } from './reply-events.ts'
import type { ReplyContext } from './reply-events.ts'
import type { ScriptedError, ScriptedFault, ScriptedMessage } from './script.ts'

export interface AnswerContext extends ReplyContext {
  readonly isStreamed: boolean
  /** Milliseconds until the error of this reply ends. */
  readonly leftMs: number
  /** Aborts when the server closes. */
  readonly signal: AbortSignal
}

/** Answers one request with one reply; resolves when everything was sent. */
export async function answer(
  reply: ScriptedMessage | ScriptedError,
  response: ServerResponse,
  context: AnswerContext,
): Promise<void> {
  response.setHeader('request-id', `req_scripted_${context.request}`)
  await pause(reply.delay_ms, context.signal)
  if ('error' in reply) return sendError(reply, response, context)
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

/** Waits until written data has reached the network. Called before the connection is interrupted. */
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

function sendError({ error }: ScriptedError, response: ServerResponse, { leftMs }: AnswerContext): void {
  const { status, message = `The script returns status ${status}.`, for_ms: lastsMs } = error
  const type = error.type ?? typeOfStatus[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const texts = { message, headers: error.headers ?? {}, fields: error.fields ?? {} }
  const { headers, ...details } = lastsMs === undefined ? texts : withTimes(texts, timesOf(leftMs))
  const body = { type: 'error', error: { type, message: details.message, ...details.fields } }
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

type Times = ReadonlyMap<string, string | number>

function timesOf(leftMs: number): Times {
  // Round up, so that a client that retries at that time is not too early despite millisecond clocks.
  const end = new Date(Math.ceil(Date.now() + leftMs) + 1)
  return new Map<string, string | number>([
    ['{{seconds_left}}', Math.ceil(leftMs / 1000)],
    ['{{ends_at}}', end.toISOString()],
    ['{{ends_at_unix}}', Math.ceil(end.getTime() / 1000)],
    ['{{ends_at_unix_ms}}', end.getTime()],
  ])
}

type ErrorTexts = Pick<ScriptedError['error'], 'message' | 'headers' | 'fields'>

/**
 * Inserts the times: a field that consists of one placeholder becomes a number if the time is one; headers and messages
 * remain text.
 */
function withTimes({ message = '', headers = {}, fields = {} }: ErrorTexts, times: Times) {
  return {
    message: textWithTimes(message, times),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, textWithTimes(value, times)])),
    fields: fieldsWithTimes(fields, times),
  }
}

function textWithTimes(text: string, times: Times): string {
  return text.replaceAll(/\{\{\w+\}\}/g, (name) => String(times.get(name) ?? name))
}

function fieldsWithTimes(fields: JsonObject, times: Times): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, valueWithTimes(value, times)]))
}

function valueWithTimes(value: Json | undefined, times: Times): Json | undefined {
  if (typeof value === 'string') return times.get(value) ?? textWithTimes(value, times)
  if (isJsonObject(value)) return fieldsWithTimes(value, times)
  return Array.isArray(value) ? listOf(value).map((one) => valueWithTimes(one, times) ?? null) : value
}

/** Waits for a number of milliseconds. Rejects when the signal aborts. */
export async function pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (ms !== undefined && ms > 0) await wait(ms, undefined, { signal })
}
