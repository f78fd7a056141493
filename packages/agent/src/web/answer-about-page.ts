import { createHash } from 'node:crypto'
import { headOf, textOf, type CompactionReply } from '@halting/core/adapters'
import type { Model, ToolContext, ToolOutput } from '@halting/core'
import type { FetchedPage } from './fetch-page.ts'
import * as texts from './web-fetch-texts.ts'

export interface PageQuestion {
  readonly fetched: FetchedPage
  /** The question about the page. */
  readonly prompt: string
  readonly ask: NonNullable<ToolContext['ask']>
  /** The model to ask (default: the model of the run). */
  readonly model: Model | undefined
}

const answerTokens = 4_000
const answerMs = 60_000

// Spec R-WEB-8.
/** A model's answer about the page. If there is no answer, the page itself, and the reason. */
export async function answerAboutPage({ fetched, prompt, ask, model }: PageQuestion): Promise<ToolOutput> {
  const { output, page } = fetched
  if (page === undefined) return output
  const { head, text } = page
  // A page cannot contain its own digest, so it cannot fake its end. The same page yields the same question after a
  // crash.
  const mark = `page-${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
  const question = {
    system: texts.pageReaderPrompt,
    messages: [{ role: 'user', content: texts.pageQuestion(prompt, mark, text) }],
    maxOutputTokens: answerTokens,
    timeoutMs: answerMs,
  } as const
  const reply = await ask(model === undefined ? question : { ...question, model })
  const answer = answerOf(reply)
  if (answer.kind === 'none') return { ...output, content: texts.pageUnanswered(head, answer.why, text) }
  return { ...output, content: texts.pageAnswered(head, `${answer.text}${answer.isCut ? texts.answerCut : ''}`) }
}

type Answer =
  | { readonly kind: 'answer'; readonly text: string; readonly isCut: boolean }
  | { readonly kind: 'none'; readonly why: string }

function answerOf(reply: CompactionReply): Answer {
  switch (reply.kind) {
    case 'answered': {
      const { message, streamError } = reply
      const text = textOf(message.content).trim()
      if (text === '') return { kind: 'none', why: texts.noAnswerReasons.empty }
      return { kind: 'answer', text, isCut: streamError !== null || message.stop_reason === 'max_tokens' }
    }
    case 'over_budget':
      return { kind: 'none', why: texts.noAnswerReasons.budget }
    case 'failed':
      return {
        kind: 'none',
        why: texts.readerFailed(
          headOf(reply.error.message, 200)
            .replace(/[\s.]+$/, '')
            .replace(/\s+/g, ' '),
        ),
      }
    case 'aborted':
      return { kind: 'none', why: texts.noAnswerReasons.aborted }
  }
}
