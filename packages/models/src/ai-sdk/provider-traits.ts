import type { FilePart, ProviderOptions } from './language-model.ts'

/** The model, as far as the behaviour of its package depends on it. */
export interface Provider {
  /** The name of the provider, such as `anthropic.messages`. */
  readonly provider: string
  /** Name of the model at its service. */
  readonly modelId: string
}

/** Behaviour that the AI SDK's interface leaves to each package. */
export interface ProviderTraits {
  /** Marks a message as the end of a cached prefix; undefined if the service caches automatically, or cannot. */
  readonly cacheMark?: ProviderOptions
  /** Tools accept the mark, too. */
  readonly marksTools?: true
  /** Whether the package sends this file in a tool result. Other packages convert it to text, reject it or drop it. */
  readonly takesInResult?: (file: FilePart) => boolean
  /** Provider names under which the package accepts the option that controls storage. */
  readonly storesBy?: readonly string[]
  /** The package sends files that the model created back to the model. Others drop them. */
  readonly takesModelFiles?: true
}

interface Row extends ProviderTraits {
  readonly provider: RegExp
  /** Models to which the row applies (default: all). */
  readonly model?: RegExp
}

const isImage = ({ mediaType }: FilePart): boolean => mediaType.startsWith('image/')
const isImageOrPdf = (file: FilePart): boolean => isImage(file) || file.mediaType === 'application/pdf'
const isSentAlong = (file: FilePart): boolean => file.data.type === 'data' && isImageOrPdf(file)

const anthropicMark: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/**
 * Traits taken from the sources of the packages; the first matching row applies. `npm run providers` verifies them.
 */
const rows: readonly Row[] = [
  // Anthropic itself, Foundry, Vertex and Bedrock.
  { provider: /anthropic/, cacheMark: anthropicMark, marksTools: true, takesInResult: isImageOrPdf },
  // Bedrock rejects the mark for models that cannot cache.
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

/** Returns the traits of a provider's package; an empty object if no row matches. */
export function traitsOf({ provider, modelId }: Provider): ProviderTraits {
  return rows.find((row) => row.provider.test(provider) && (row.model?.test(modelId) ?? true)) ?? {}
}
