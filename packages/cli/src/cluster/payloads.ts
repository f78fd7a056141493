import { resolve } from 'node:path'
import type {
  filePayloads as FilePayloads,
  PayloadStores,
  s3Payloads as S3Payloads,
  S3PayloadsOptions,
} from '@halting/restate'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

interface PayloadFactories {
  readonly filePayloads: typeof FilePayloads
  readonly s3Payloads: typeof S3Payloads
}

/** The store that `--payloads` names: a folder, or a prefix in a bucket. @throws UsageError */
export function payloadStores(
  place: string,
  { cwd, env }: Pick<Program, 'cwd' | 'env'>,
  { filePayloads, s3Payloads }: PayloadFactories,
): PayloadStores {
  if (place.startsWith('s3://')) return s3Payloads(bucketOptions(place, env))
  if (/^[a-z][\w+.-]*:\/\//i.test(place))
    throw new UsageError(`--payloads takes a folder or s3://BUCKET/PREFIX, not "${place}".`)
  return filePayloads({ folder: resolve(cwd, place) })
}

/** Variables with the credentials of a bucket. Tools of sessions do not receive them. */
export const bucketKeyVariables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const prefixPart = /^[\w!*'()=+@-][\w!.*'()=+@-]*$/

/** Reads the variables that Amazon's tools read. @throws UsageError for an invalid bucket or prefix, and for missing keys */
export function bucketOptions(place: string, env: Program['env']): S3PayloadsOptions {
  const [bucket = '', ...parts] = place.slice('s3://'.length).replace(/\/+$/, '').split('/')
  if (!bucketName.test(bucket) || !parts.every((part) => prefixPart.test(part)))
    throw new UsageError(
      `--payloads takes s3://BUCKET or s3://BUCKET/PREFIX, with letters, digits and - _ . / ! * ' ( ) = + @, not "${place}".`,
    )
  const read = (...names: readonly string[]): string | undefined =>
    names.map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== '')
  const [keyId, secret, token] = bucketKeyVariables
  const accessKeyId = read(keyId)
  const secretAccessKey = read(secret)
  const sessionToken = read(token)
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new UsageError(`--payloads ${place} needs ${keyId} and ${secret} in the environment.`)
  const region = read('AWS_REGION', 'AWS_DEFAULT_REGION') ?? 'us-east-1'
  const endpoint = read('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL')?.replace(/\/+$/, '')
  if (endpoint !== undefined && !/^https?:\/\/[^/]+/.test(endpoint))
    throw new UsageError(`AWS_ENDPOINT_URL must be an address such as http://127.0.0.1:9000, not "${endpoint}".`)
  return {
    bucketUrl: bucketUrl(bucket, region, endpoint),
    accessKeyId,
    secretAccessKey,
    region,
    ...(sessionToken !== undefined && { sessionToken }),
    ...(parts.length > 0 && { prefix: `${parts.join('/')}/` }),
  }
}

/** A bucket name with a dot does not match a TLS certificate as a host name, so it becomes part of the path. */
function bucketUrl(bucket: string, region: string, endpoint: string | undefined): string {
  if (endpoint !== undefined) return `${endpoint}/${bucket}`
  const host = `s3.${region}.amazonaws.com`
  return bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}`
}
