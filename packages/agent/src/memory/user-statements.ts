import { isOfPerson, isText, uuidOf } from '@halting/core/adapters'
import type { MessageContent, TranscriptEntry } from '@halting/core'
import { maxTypedCharacters, sentencesOf } from './sentences.ts'
import { secretIn, withoutSecrets } from './secrets.ts'
import type { Environment } from '../tools/limits.ts'

/** A user message, split into sentences. */
export interface UserMessage {
  /** The uuid of the message. */
  readonly messageId: string
  /** Sentences of the message, in order. */
  readonly sentences: readonly string[]
}

/** The parts of a run from which notes may be extracted. */
export interface UserStatements {
  /** Id of the session. */
  readonly sessionId: string
  /** Messages of the user, in order. */
  readonly person: readonly UserMessage[]
  /** Texts of the model, only as context: none of it is stored. */
  readonly assistant: readonly string[]
  /** Why sentences were withheld, one entry each. */
  readonly withheld: readonly string[]
}

/** Options of the excerpt of a conversation from which notes are extracted. */
export interface UserStatementsOptions {
  /** Id of the session. */
  readonly sessionId: string
  /** Environment variables whose values identify secrets. */
  readonly env: Environment
  /**
   * The part of the prompt that the user typed, if the message has more: the text of a command, or piped input.
   * Default: the message without embedded files.
   */
  readonly typedText?: string | undefined
}

// Spec R-MEM-5.
/**
 * Returns what the user and the model said in a run. Omits tool results, messages of hooks and of the loop, and what
 * looks like a secret, also in texts of the model.
 */
export function userStatementsIn(
  entries: readonly TranscriptEntry[],
  { sessionId, env, typedText: written }: UserStatementsOptions,
): UserStatements {
  const person: UserMessage[] = []
  const assistant: string[] = []
  const withheld: string[] = []
  for (const entry of entries) {
    if (entry.kind === 'assistant' && entry.error === undefined)
      assistant.push(
        ...entry.message.content.flatMap((block) => (isText(block) ? [withoutSecrets(block.text, env)] : [])),
      )
    if (entry.kind !== 'user' || !isOfPerson(entry)) continue
    const text = entry.origin === 'prompt' && written !== undefined ? written : ownText(entry.message.content)
    // A secret may span several lines and follow the word that announces it, so secrets are marked before the text is
    // split.
    const isByHand = text.length <= maxTypedCharacters
    const sentences = (isByHand ? sentencesOf(withoutSecrets(text, env)) : []).filter((sentence) => {
      const why = secretIn(sentence, env)
      if (why !== undefined) withheld.push(why)
      return why === undefined
    })
    if (sentences.length > 0) person.push({ messageId: uuidOf(`${sessionId}/${entry.id}`), sentences })
  }
  return { sessionId, person, assistant, withheld }
}

/** Returns the first text block; the other blocks are files that the message mentions. */
function ownText(content: MessageContent): string {
  if (typeof content === 'string') return content
  return content.find(isText)?.text ?? ''
}
