import { wellFormed } from '@halting/core/adapters'

/** One value with its labels. */
export interface Sample {
  /** Suffix of the family name: `_bucket`, `_sum` or `_count`; absent for none. */
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** All samples of one metric. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
}

/** Formats metrics in the Prometheus text format, version 0.0.4. Names are made valid; labels and help texts are escaped. */
export function prometheusText(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name: given, help, type, samples }) => {
      const name = metricName(given)
      const lines = samples.map(
        ({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${numberText(value)}\n`,
      )
      return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
    })
    .join('')
}

/** A valid Prometheus name: letters, digits and `_`, not starting with a digit. */
export function metricName(name: string): string {
  return name.replaceAll(/[^\w]/g, '_').replace(/^(?=\d|$)/, '_')
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const inQuotes = escaped(wellFormed(value)).replaceAll('"', String.raw`\"`)
    return `${metricName(name)}="${inQuotes}"`
  })
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(text: string): string {
  // Some parsers also end a line at a carriage return.
  return text.replaceAll('\\', String.raw`\\`).replaceAll(/\r?\n|\r/g, String.raw`\n`)
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}
