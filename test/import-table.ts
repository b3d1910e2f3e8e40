/**
 * Who may import whom: the one table behind architecture.test.ts, and what ARCHITECTURE.md shows (documents.test.ts holds
 * the two together). A new import that does not fit is a change of the architecture: change this table with its reason.
 */

export interface ImportRule {
  /** Folders of src/ beside itself. */
  readonly folders: readonly string[]
  /** Single files of other folders. */
  readonly files?: readonly string[]
  /** Modules of Node, without `node:`. */
  readonly node: readonly string[]
  /** Packages that are there at run time. */
  readonly packages: readonly string[]
  /** Packages whose types alone may be named (`import type`); none of them is there at run time. */
  readonly typesOf?: readonly string[]
}

/** By folder of src/. */
export const importTable: Readonly<Record<string, ImportRule>> = {
  contract: { folders: [], node: ['crypto'], packages: ['typebox'] },
  usage: { folders: ['contract'], node: [], packages: ['decimal.js-light'] },
  i18n: { folders: ['contract'], node: [], packages: [] },
  engine: { folders: ['contract', 'usage'], node: [], packages: [] },
  egress: {
    folders: ['contract'],
    node: ['crypto', 'dns', 'net', 'stream', 'tls'],
    packages: ['ipaddr.js', 'undici'],
  },
  providers: {
    folders: ['contract', 'egress', 'usage'],
    files: ['engine/ports.ts', 'settings/setting-reader.ts'],
    node: ['crypto'],
    packages: ['eventsource-parser', 'typebox'],
    typesOf: ['@anthropic-ai/sdk', 'openai'],
  },
  doctor: { folders: ['contract', 'engine', 'providers'], node: [], packages: [] },
  tools: {
    folders: ['contract', 'egress'],
    files: ['engine/ports.ts'],
    node: ['util', 'zlib'],
    packages: ['re2js'],
  },
  delivery: { folders: ['contract', 'egress'], files: ['runs/ports.ts'], node: ['crypto'], packages: [] },
  journal: {
    folders: ['contract', 'egress'],
    files: ['delivery/envelope.ts', 'engine/ports.ts'],
    node: ['crypto', 'fs', 'stream'],
    packages: [],
    typesOf: ['pino'],
  },
  observe: {
    folders: ['contract', 'egress'],
    files: ['engine/ports.ts', 'load/load-meter.ts', 'providers/key-gate.ts', 'settings/setting-reader.ts'],
    node: ['crypto'],
    packages: [],
  },
  runs: { folders: ['contract', 'engine', 'usage'], node: ['crypto', 'fs', 'os', 'path'], packages: ['ulid'] },
  cassette: {
    folders: ['contract', 'egress', 'engine', 'i18n', 'providers', 'runs', 'tools'],
    // In which forms a secret turns up is known once.
    files: ['journal/secret-forms.ts', 'journal/unescaped.ts'],
    node: ['fs', 'fs/promises', 'path', 'timers/promises', 'worker_threads'],
    packages: [],
  },
  server: {
    folders: ['contract', 'runs'],
    files: ['journal/log-query.ts'],
    node: ['crypto', 'http', 'net'],
    packages: ['fastify', 'typebox'],
  },
  // Apart from everything: nobody else measures the process.
  load: { folders: [], node: ['os', 'perf_hooks', 'v8', 'vm'], packages: [] },
  // Apart from settings.ts: how a variable is read, and not which there are.
  settings: { folders: ['egress'], node: ['fs'], packages: [] },
}

/** Files that lie directly in src/. What is not here does not belong there. */
export const rootFiles: Readonly<Record<string, ImportRule | 'everything'>> = {
  'settings.ts': {
    folders: ['contract', 'egress', 'i18n', 'settings'],
    files: [
      'delivery/callback-settings.ts',
      'delivery/envelope.ts',
      'observe/tracing.ts',
      'observe/tracing-settings.ts',
      'providers/provider-settings.ts',
    ],
    node: [],
    packages: [],
  },
  'admission.ts': 'everything',
  'validation.ts': 'everything',
  'parts.ts': 'everything',
  'compose.ts': 'everything',
  'main.ts': 'everything',
  'bin.ts': { folders: [], files: ['main.ts'], node: [], packages: [] },
}

/** One row a folder, as ARCHITECTURE.md shows it. */
export function tableRows(): string[] {
  const rules = Object.entries({ ...importTable, ...rootFiles })
  return rules.map(([name, rule]) =>
    rule === 'everything'
      ? `| \`${name}\` | everything; imported by nobody | any | any |`
      : `| \`${name}\` | ${list([...rule.folders, ...(rule.files ?? [])])} | ${list(rule.node)} | ${list([
          ...rule.packages,
          ...(rule.typesOf ?? []).map((name) => `${name} (types)`),
        ])} |`,
  )
}

function list(names: readonly string[]): string {
  return names.length === 0 ? '–' : names.join(', ')
}
