import { isJsonObject } from '@halting/core/adapters'

/** One question of AskUserQuestion. */
export interface PersonQuestion {
  readonly question: string
  /** A header of one or two words; '' for none. */
  readonly header: string
  readonly options: readonly { readonly label: string; readonly description: string }[]
  readonly multiSelect: boolean
}

/** The questions in the input of a call. The tool has validated them; invalid ones are skipped anyway. */
export function personQuestionsIn(input: { readonly [name: string]: unknown }): readonly PersonQuestion[] {
  const { questions } = input
  if (!Array.isArray(questions)) return []
  return (questions as readonly unknown[]).flatMap((item) => {
    if (!isJsonObject(item) || typeof item['question'] !== 'string') return []
    const { question, header, multiSelect } = item
    const options = Array.isArray(item['options']) ? (item['options'] as readonly unknown[]) : []
    return [
      {
        question,
        header: typeof header === 'string' ? header : '',
        multiSelect: multiSelect === true,
        options: options.flatMap((option) => {
          if (!isJsonObject(option) || typeof option['label'] !== 'string') return []
          const { label, description } = option
          return [{ label, description: typeof description === 'string' ? description : '' }]
        }),
      },
    ]
  })
}
