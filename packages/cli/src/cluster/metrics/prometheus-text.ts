import { wellFormed } from '@halting/core/adapters'

/** One value, under the labels that it is told apart by. */
export interface Sample {
  /** What stands behind the name of its family: `_bucket`, `_sum`, `_count`; none when absent. */
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** What is measured under one name. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
}

/** Metrics in the text format of Prometheus, version 0.0.4. Names are made valid; whatever a label or a help text has in it, it stays in its place. */
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

/** As Prometheus takes it: letters, digits and `_`, and no digit first. */
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
  // Some parsers end a line at a carriage return, too.
  return text.replaceAll('\\', String.raw`\\`).replaceAll(/\r?\n|\r/g, String.raw`\n`)
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}
