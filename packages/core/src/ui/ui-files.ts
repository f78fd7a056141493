import { ConfigurationError } from '../values/errors.ts'
import { shown, type Fields } from '../values/given.ts'
import type { ContentBlock } from '../model/messages.ts'

/** An image or a PDF of a message of `useChat`. @throws ConfigurationError for any other file, and for an address that no service can read. */
export function filePart({ mediaType: given, url }: Fields, where: string): ContentBlock {
  if (typeof url !== 'string') throw new ConfigurationError(`${where} is a file without a URL. Give its url.`)
  const data = dataIn(url)
  const mediaType = data?.mediaType ?? (typeof given === 'string' ? given.toLowerCase() : '')
  const type = kindOf(mediaType)
  if (type === undefined)
    throw new ConfigurationError(
      `${where} is a file of the type ${shown(mediaType)}. Models are shown images and PDFs: give its content as text.`,
    )
  if (data !== undefined) return { type, source: { type: 'base64', media_type: data.mediaType, data: data.base64 } }
  if (!/^https?:\/\//i.test(url))
    throw new ConfigurationError(
      `${where} is a file at ${shown(url)}, which a service cannot read. Give a data URL in base64, or an address that begins with https.`,
    )
  return { type, source: { type: 'url', url } }
}

function kindOf(mediaType: string): 'image' | 'document' | undefined {
  if (mediaType === 'application/pdf') return 'document'
  return mediaType === 'image' || mediaType.startsWith('image/') ? 'image' : undefined
}

/** The type and the content of a data URL in base64; undefined for any other address. Without an expression over the content, which may be of megabytes. */
function dataIn(url: string): { readonly mediaType: string; readonly base64: string } | undefined {
  const comma = url.indexOf(',')
  if (comma === -1 || !/^data:/i.test(url.slice(0, 5))) return undefined
  const [mediaType = '', ...parameters] = url.slice(5, comma).split(';')
  if (!parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')) return undefined
  return { mediaType: mediaType.trim().toLowerCase(), base64: url.slice(comma + 1) }
}
