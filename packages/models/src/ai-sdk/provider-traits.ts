import type { FilePart, ProviderOptions } from './language-model.ts'

/** Who is asked, as far as what its package does depends on it. */
export interface Provider {
  /** The name of the provider, such as `anthropic.messages`. */
  readonly provider: string
  /** The name of the model at its service. */
  readonly modelId: string
}

/** What the interface of the AI SDK leaves to each package, and does not say. */
export interface ProviderTraits {
  /** What a message has after which the service is to cache; undefined where it caches by itself, or cannot. */
  readonly cacheMark?: ProviderOptions
  /** Tools take the mark, too. */
  readonly marksTools?: true
  /** Whether the package puts this file into the result of a tool. Others write it out as text, refuse it or drop it. */
  readonly takesInResult?: (file: FilePart) => boolean
  /** The options that say whether the service stores conversations, by the names that they go by. */
  readonly storesBy?: readonly string[]
  /** The package gives a file that the model made back to the model. Others drop it. */
  readonly takesModelFiles?: true
}

interface Row extends ProviderTraits {
  readonly provider: RegExp
  /** Models that it is so for; all when absent. */
  readonly model?: RegExp
}

const isImage = ({ mediaType }: FilePart): boolean => mediaType.startsWith('image/')
const isImageOrPdf = (file: FilePart): boolean => isImage(file) || file.mediaType === 'application/pdf'
const isSentAlong = (file: FilePart): boolean => file.data.type === 'data' && isImageOrPdf(file)

const anthropicMark: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** Read from the sources of the packages; the first row that fits counts. `npm run providers` holds it against them. */
const rows: readonly Row[] = [
  // Of Anthropic itself, of Foundry, Vertex and Bedrock.
  { provider: /anthropic/, cacheMark: anthropicMark, marksTools: true, takesInResult: isImageOrPdf },
  // Bedrock refuses the mark for models that cannot cache.
  {
    provider: /^amazon-bedrock$/,
    model: /anthropic\.claude-(?!v|instant|3-(?:haiku|sonnet|opus)|3-5-sonnet-20240620)|amazon\.nova/,
    cacheMark: { bedrock: { cachePoint: { type: 'default' } } },
    takesInResult: isSentAlong,
  },
  { provider: /^(?:openrouter|gateway)/, model: /^anthropic\//, cacheMark: anthropicMark },
  { provider: /^google\./, model: /gemini-(?:[3-9]|\d\d)/, takesInResult: isSentAlong, takesModelFiles: true },
  { provider: /^google\./, takesModelFiles: true },
  { provider: /^xai\.responses$/, takesInResult: isImage, storesBy: ['xai'] },
  { provider: /azure.*\.responses$/, takesInResult: isImageOrPdf, storesBy: ['azure', 'openai'] },
  { provider: /\.responses$/, takesInResult: isImageOrPdf, storesBy: ['openai'] },
]

/** What is known of a provider's package; nothing for one that no row is about. */
export function traitsOf({ provider, modelId }: Provider): ProviderTraits {
  return rows.find((row) => row.provider.test(provider) && (row.model?.test(modelId) ?? true)) ?? {}
}
