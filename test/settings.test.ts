/** Settings that name files: what they hold is read at start, and what is wrong with them is told in a line without a secret. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { readSettings, settingNames } from '../src/settings.ts'
import type { Environment } from '../src/settings/setting-reader.ts'
import { namedCertificate, otherCertificate } from './egress/test-certificate.ts'

/** A folder with these files, gone when the test ends; gives the path of a name. */
function folderOf(t: TestContext, files: Readonly<Record<string, string>>): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'settings-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return (name) => join(folder, name)
}

function read(environment: Environment) {
  return readSettings({ ENGINE_TOKEN: 'sixteen-characters', ...environment })
}

function faultsOf(environment: Environment): readonly string[] {
  const outcome = read(environment)
  return outcome.ok ? [] : outcome.faults
}

const FILES = {
  'ca.pem': `${namedCertificate.cert}\n${otherCertificate.cert}\n`,
  'cert.pem': namedCertificate.cert,
  'key.pem': namedCertificate.key,
  'other-key.pem': otherCertificate.key,
  'text.pem': 'SECRET text',
}

test('GigaChat: without settings the vendor’s address, keys of persons and no TLS of its own', () => {
  const outcome = read({})
  assert.ok(outcome.ok)
  const { gigachatAuthUrl, gigachatScope, gigachatTls } = outcome.settings
  assert.equal(gigachatAuthUrl, 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth')
  assert.equal(gigachatScope, 'GIGACHAT_API_PERS')
  assert.deepEqual(gigachatTls, { ca: null, identity: null })
})

test('GigaChat: the files that are named are read', (t) => {
  const path = folderOf(t, FILES)
  const outcome = read({
    GIGACHAT_SCOPE: 'GIGACHAT_API_CORP',
    GIGACHAT_AUTH_URL: 'https://auth.example:9443/oauth',
    GIGACHAT_CA_FILE: path('ca.pem'),
    GIGACHAT_CERT_FILE: path('cert.pem'),
    GIGACHAT_KEY_FILE: path('key.pem'),
  })
  assert.ok(outcome.ok)
  const { gigachatAuthUrl, gigachatScope, gigachatTls } = outcome.settings
  assert.deepEqual([gigachatScope, gigachatAuthUrl], ['GIGACHAT_API_CORP', 'https://auth.example:9443/oauth'])
  assert.deepEqual(gigachatTls, { ca: FILES['ca.pem'], identity: namedCertificate })
})

test('GigaChat: each fault names its variable, and neither a path nor a text is told', (t) => {
  const path = folderOf(t, FILES)
  const cases: [Environment, RegExp[]][] = [
    [{ GIGACHAT_SCOPE: 'GIGACHAT_API_PERSON' }, [/^GIGACHAT_SCOPE must be one of GIGACHAT_API_PERS, /]],
    [{ GIGACHAT_AUTH_URL: 'ngw.devices.sberbank.ru' }, [/^GIGACHAT_AUTH_URL must be an http or https address/]],
    [{ GIGACHAT_CA_FILE: path('missing') }, [/^GIGACHAT_CA_FILE must name a file that can be read \(ENOENT\)$/]],
    [{ GIGACHAT_CA_FILE: path('text.pem') }, [/^GIGACHAT_CA_FILE must name a file of certificates in PEM/]],
    [{ GIGACHAT_CA_FILE: path('key.pem') }, [/^GIGACHAT_CA_FILE must name a file of certificates in PEM/]],
    [{ GIGACHAT_CERT_FILE: path('cert.pem') }, [/^GIGACHAT_KEY_FILE is required beside GIGACHAT_CERT_FILE$/]],
    [{ GIGACHAT_KEY_FILE: path('key.pem') }, [/^GIGACHAT_CERT_FILE is required beside GIGACHAT_KEY_FILE$/]],
    [
      { GIGACHAT_CERT_FILE: path('cert.pem'), GIGACHAT_KEY_FILE: path('other-key.pem') },
      [/^GIGACHAT_CERT_FILE must name a certificate in PEM, and GIGACHAT_KEY_FILE its key/],
    ],
    [
      { GIGACHAT_CERT_FILE: path('text.pem'), GIGACHAT_KEY_FILE: path('missing') },
      [/^GIGACHAT_KEY_FILE must name a file that can be read \(ENOENT\)$/],
    ],
  ]
  for (const [environment, expected] of cases) {
    const faults = faultsOf(environment)
    assert.equal(faults.length, expected.length, faults.join('\n'))
    for (const [at, fault] of faults.entries()) {
      assert.match(fault, expected[at] ?? /nothing/)
      assert.doesNotMatch(fault, /SECRET|settings-|\.pem|BEGIN/)
    }
  }
})

test('the address of the error webhook stays as it is, to the slash and the query', () => {
  for (const url of [
    'https://alerts.example/hook/',
    'https://alerts.example/hook?version=1&sig=sixteen-letters-or-more',
  ]) {
    const outcome = read({ ERROR_WEBHOOK_URL: url })
    assert.equal(outcome.ok ? outcome.settings.errorWebhookUrl : outcome.faults.join(), url)
  }
  for (const url of [
    'alerts.example/hook',
    'ftp://alerts.example/',
    'https://user:word@alerts.example/',
    'https://a.example/#x',
  ])
    assert.deepEqual(
      faultsOf({ ERROR_WEBHOOK_URL: url }),
      ['ERROR_WEBHOOK_URL must be an http or https address without user and fragment'],
      url,
    )
})

test('the variables of OpenTelemetry mean what they mean everywhere', () => {
  const token = 'sixteen-characters'
  const read = (environment: Readonly<Record<string, string>>) => readSettings({ ENGINE_TOKEN: token, ...environment })
  const none = read({ OTEL_SERVICE_NAME: 'x' })
  assert.ok(none.ok && none.settings.tracing === null)
  const all = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example.com/otlp/',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20abc%3D%3D, x-scope=a=b',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  })
  assert.ok(all.ok)
  assert.deepEqual(all.settings.tracing, {
    endpoint: 'https://otlp.example.com/otlp',
    headers: { authorization: 'Bearer abc==', 'x-scope': 'a=b' },
    serviceName: 'shop',
    sampler: 'traceidratio',
    ratio: 0.25,
  })
  const standard = read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example.com' })
  assert.ok(standard.ok)
  assert.deepEqual(standard.settings.tracing, {
    endpoint: 'https://otlp.example.com',
    headers: {},
    serviceName: 'theloop',
    sampler: 'parentbased_always_on',
    ratio: 1,
  })
})

test('a fault in them names the variable and no secret', () => {
  const outcome = readSettings({
    ENGINE_TOKEN: 'sixteen-characters',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'otlp.example.com:4317',
    OTEL_EXPORTER_OTLP_HEADERS: 'SECRET',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '10',
  })
  assert.ok(!outcome.ok)
  assert.deepEqual(
    outcome.faults.map((fault) => fault.split(' ', 1)[0]),
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'],
  )
  assert.doesNotMatch(outcome.faults.join(), /SECRET/)
  for (const bad of [
    'a=%zz',
    '=x',
    'a b=x',
    'a=',
    'a=b%0d%0ac',
    'host=evil.example',
    'a=b,Transfer-Encoding=chunked',
  ]) {
    const one = readSettings({ ENGINE_TOKEN: 'sixteen-characters', OTEL_EXPORTER_OTLP_HEADERS: bad })
    assert.ok(!one.ok, bad)
  }
})

for (const zone of [
  'America/New York',
  'Etc/Unknown',
  'GMT+7',
  '+07:00',
  '5',
  'Europe',
  'Local',
  'BST',
  'SystemV/PST8',
]) {
  test(`TZ-02: DEFAULT_TIMEZONE=${zone} stops the start with a line that names it`, () => {
    const [fault, ...others] = faultsOf({ DEFAULT_TIMEZONE: zone })
    assert.match(fault ?? '', /^DEFAULT_TIMEZONE must be an IANA time zone/)
    assert.deepEqual(others, [])
  })
}

const ODD_VALUES = [
  '-1',
  '1.5',
  '1e3',
  '0x10',
  'NaN',
  '99999999999999999999',
  'абв',
  'a b',
  '/no/such/folder',
  'http://[::1',
  '{}',
  'a'.repeat(100_000),
  'x\ny',
  ',',
]
/** Any text may name an address to listen on, an environment, a service. */
const FREE = ['HOST', 'NODE_ENV', 'OTEL_SERVICE_NAME']

test('whatever a variable says, the start goes on or stops with lines of one sentence that name it', () => {
  for (const name of settingNames) {
    let stopped = 0
    for (const value of ODD_VALUES) {
      const faults = faultsOf({ [name]: value })
      for (const fault of faults) {
        // One file of a pair asks for the other as well.
        const named = fault.replace(/^GIGACHAT_(?:CERT|KEY)_FILE is required beside /, '').startsWith(name)
        assert.ok(named && fault.length < 500 && !fault.includes('\n'), `${name}: ${fault.slice(0, 600)}`)
      }
      if (faults.length > 0) stopped += 1
    }
    assert.ok(FREE.includes(name) ? stopped === 0 : stopped > 0, `${name} was refused ${stopped} times`)
  }
})
