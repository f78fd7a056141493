import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import { run } from './program.ts'

/** A request of the program, as a service of the Messages API gets it. */
export interface FirstRequest {
  readonly system: readonly { readonly text: string }[]
  readonly tools: readonly OfferedTool[]
  readonly messages: readonly unknown[]
}

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly input_schema: OfferedSchema
}

export interface OfferedSchema {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, OfferedSchema>>
  readonly items?: OfferedSchema
  readonly required?: readonly string[]
}

/** Starts a service for this test file that refuses every request. The answer runs the program and resolves with the request that it made. */
export function recordFirstRequest(): (args: readonly string[], stdin?: string) => Promise<FirstRequest> {
  let requested: FirstRequest | undefined
  const service = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      requested = JSON.parse(Buffer.concat(parts).toString('utf8')) as FirstRequest
      const error = { type: 'invalid_request_error', message: 'This service only listens.' }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error }))
    })
  })
  beforeAll(async () => {
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
  })
  afterAll(() => void service.close())

  return async (args, stdin = '') => {
    requested = undefined
    const address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    const env = { ANTHROPIC_API_KEY: 'sk-ant-made-up', ANTHROPIC_BASE_URL: address }
    const { stderr } = await run([...args, '--model', 'claude-sonnet-5-5'], { env, stdin })
    if (requested === undefined) throw new Error(`nothing was requested: ${stderr}`)
    return requested
  }
}
