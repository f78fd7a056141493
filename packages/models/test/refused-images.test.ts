// Tests R-MEDIA-9 and R-MEDIA-10 of docs/spec over HTTP: a service that counts and inspects the images that it
// receives.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deflateSync } from 'node:zlib'
import { QueryEngine } from '@halting/core'
import type { AnyTool, JsonObject, SdkResult } from '@halting/core'
import type { ImageBlock } from '@halting/core/adapters'
import { expect, onTestFinished, test } from 'vitest'
import { anthropic } from '../src/index.ts'
import { answeringReply, callingReply, framesOf } from './support/fault-reply.ts'

type Blocks = readonly JsonObject[]

interface Service {
  readonly url: string
  /** The images of each request, by their colour. */
  readonly images: (readonly number[])[]
}

/**
 * Answers each request with a call and then with a text, and rejects the problem that `problemOf` finds in the images.
 */
async function looking(problemOf: (images: readonly Seen[]) => string | undefined): Promise<Service> {
  const images: (readonly number[])[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      // A request of an adapter is an object whose messages are lists of blocks.
      const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: readonly { content: Blocks }[] }
      const seen = messages.flatMap(({ content }, turn) => content.flatMap((block, at) => seenIn(block, turn, at)))
      images.push(seen.map(({ colour }) => colour))
      const message = problemOf(seen)
      if (message !== undefined) {
        response.writeHead(400, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }))
        return
      }
      const isCalled = messages.at(-1)?.content.some(({ type }) => type === 'tool_result') === true
      const reply = isCalled ? answeringReply : callingReply
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(
        framesOf('messages', reply, `msg_${images.length}`)
          .map(({ bytes }) => bytes)
          .join(''),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, images }
}

interface Seen {
  readonly colour: number
  /** The name of its place in the Messages API. */
  readonly name: string
}

function seenIn(block: JsonObject, turn: number, at: number): readonly Seen[] {
  const name = `messages.${turn}.content.${at}`
  if (block.type === 'image') return [{ colour: colourOf(block), name: `${name}.image` }]
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return []
  return (block.content as Blocks).flatMap((part, index) =>
    part.type === 'image' ? [{ colour: colourOf(part), name: `${name}.tool_result.content.${index}.image` }] : [],
  )
}

/** The last byte of our pictures is their colour. */
function colourOf({ source }: JsonObject): number {
  return Buffer.from((source as { data: string }).data, 'base64').at(-1) ?? -1
}

function picture(colour: number): ImageBlock {
  const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010800000000', 'hex')
  const data = Buffer.concat([head, deflateSync(Buffer.alloc(2)), Buffer.from([colour])]).toString('base64')
  return { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
}

function session({ url }: Service, give: () => ImageBlock): QueryEngine {
  const camera: AnyTool = {
    name: 'read',
    description: 'Takes a picture.',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => ({ content: [give()] }),
  }
  const model = anthropic({ model: 'claude-opus-4-5', apiKey: 'key', baseUrl: url })
  return new QueryEngine({ model, tools: [camera], maxRetries: 0 })
}

async function resultOf(engine: QueryEngine, prompt: readonly ImageBlock[] | string): Promise<SdkResult['subtype']> {
  let result: SdkResult | undefined
  for await (const message of engine.submit(prompt)) if (message.type === 'result') result = message
  if (result === undefined) throw new Error('There was no result.')
  return result.subtype
}

const bad = 66

test('removes only the named image, and no later turn sends it again', async () => {
  const service = await looking((images) => {
    const refused = images.find(({ colour }) => colour === bad)
    return refused && `${refused.name}.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes`
  })
  let next = 1
  const engine = session(service, () => picture(next++ === 3 ? bad : next))
  const subtypes = [await resultOf(engine, [picture(40), picture(bad), picture(41)])]
  for (let turn = 0; turn < 4; turn++) subtypes.push(await resultOf(engine, 'once more'))
  expect(subtypes).toEqual(Array.from({ length: 5 }, () => 'success'))
  // Each of the two was sent once, and all others are still there.
  expect(service.images.filter((images) => images.includes(bad))).toHaveLength(2)
  expect(service.images.at(-1)).toEqual([40, 41, 2, 3, 5, 6])
})

test('ends nothing because of an unnamed refused image, now or later', async () => {
  const service = await looking((images) =>
    images.some(({ colour }) => colour === bad) ? 'Could not process image' : undefined,
  )
  const engine = session(service, () => picture(1))
  const subtypes = [await resultOf(engine, [picture(bad)]), await resultOf(engine, 'and now?')]
  expect(subtypes).toEqual(['success', 'success'])
  expect(service.images.at(-1)).toEqual([1, 1])
})

test('ends no session at a service that accepts fewer images', async () => {
  const service = await looking((images) => (images.length > 3 ? 'At most 3 image(s) may be provided' : undefined))
  const engine = session(service, () => picture(1))
  for (let turn = 0; turn < 8; turn++) expect(await resultOf(engine, [picture(2)])).toBe('success')
})

test('ends one run, and not the next, if an image is refused repeatedly under another name', async () => {
  let isBroken = true
  const service = await looking((images) =>
    isBroken && images.length > 0 ? `${images[0]?.name}.source: image exceeds 5 MB maximum` : undefined,
  )
  const engine = session(service, () => picture(1))
  expect(await resultOf(engine, [picture(2), picture(3)])).toBe('error_during_execution')
  expect(engine.lastTerminal?.reason).toBe('image_error')
  isBroken = false
  expect(await resultOf(engine, 'and now?')).toBe('success')
  expect(service.images).toEqual([[2, 3], [3], [], [1]])
})
