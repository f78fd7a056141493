// Holds R-WIRE-12e and R-WIRE-12f of docs/spec: files that a model made and the sources of its reply, as shown later.
import { createMemorySteps, startRun, streamRun, type ContentBlock } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { htmlOf, markdownOf } from '../../src/export/index.ts'
import { sessionTranscript } from '../../src/view/session-transcript.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

async function pagesOf(blocks: readonly ContentBlock[]) {
  const model = scriptedModel(['So.'])
  const steps = createMemorySteps()
  const run = streamRun(startRun({ prompt: 'Draw.' }), {
    model: {
      ...model,
      async call(request, options) {
        const reply = await model.call(request, options)
        return { ...reply, message: { ...reply.message, content: [...reply.message.content, ...blocks] } }
      },
    },
    maxTurns: 2,
    steps,
  })
  expect((await run.result).reason).toBe('completed')
  const session = sessionTranscript({ sessionId: 's', cwd: '/a', runs: [steps.records] })
  const pages = [htmlOf(session, 'x', { says: '' }), markdownOf(session, 'x')].map((page) => [...page].join(''))
  return { html: pages[0] ?? '', markdown: pages[1] ?? '' }
}

test('an image that the model made is in the page of a session', async () => {
  const { html, markdown } = await pagesOf([
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
  ])
  expect(html).toContain(`src="data:image/png;base64,${png}"`)
  expect(html).toContain('Image that the model made')
  expect(markdown).not.toContain(png)
})

test('sources have lines of their own', async () => {
  const { html, markdown } = await pagesOf([
    {
      type: 'ai_sdk_sources',
      sources: [
        { type: 'url', url: 'https://a.example/', title: 'A <b>' },
        { type: 'document', title: 'B', filename: 'b.pdf' },
        { type: 'url', url: 'https://c.example/', title: 'https://c.example/' },
        3,
        {},
      ],
    },
  ])
  expect(html).toContain('A &lt;b&gt;: https://a.example/\nB: b.pdf\nhttps://c.example/')
  expect(markdown).toContain('A <b>: https://a.example/\nB: b.pdf\nhttps://c.example/')
})
