import { byId, call, element, fillTerms, formatTime, goToLogin, onSubmit, showPart } from './common.js';

const me = await call('GET', '/api/v1/me');
if (me.ok) begin(me.body);
else goToLogin();

function begin({ user, organization, organizations }) {
  byId('who').textContent = user.email;
  if (organizations.length === 0) return showPart('no-organization');
  byId('organization').replaceChildren(
    ...organizations.map(({ id, name, role }) =>
      element('option', `${name} (as ${role})`, { value: id, selected: id === organization?.id }),
    ),
  );
  onSubmit('code-form', ({ code }) => find(code));
  onSubmit('decision', (fields, submitter) => decide(fields.organization, submitter?.value ?? 'deny'));
  byId('code').value = new URLSearchParams(location.search).get('user_code') ?? '';
  showPart('ask');
  // The code came with the address; a person looks at it all the same before anything is decided.
  if (byId('code').value === '') byId('code').focus();
  else byId('code-form').requestSubmit();
}

let userCode = '';

async function find(code) {
  const { ok, status, body } = await call('GET', `/device?user_code=${encodeURIComponent(code)}`);
  if (status === 401) goToLogin();
  if (!ok) return body.message;
  if (body.status !== 'pending') return end(body.status);
  userCode = body.userCode ?? code;
  fillTerms('facts', [
    ['Code', element('code', userCode)],
    ['Machine', body.deviceName],
    ['Address', body.address ?? 'unknown'],
    ['Asked at', formatTime(body.createdAt)],
    ['Good until', formatTime(body.expiresAt)],
  ]);
  showPart('decide');
  return '';
}

async function decide(organization, decision) {
  const { ok, status, body } = await call('POST', '/device', { user_code: userCode, organization, decision });
  if (status === 401) goToLogin();
  if (!ok) return body.message;
  return end(decision === 'approve' ? 'approved' : 'denied');
}

const ENDS = {
  approved: ['The machine is signed in', 'You may close this page and go back to it.'],
  denied: ['The machine was not let in', 'It has been told so. Nothing else has happened.'],
  expired: ['The code has expired', 'Begin again on the machine: svc login. It shows another code.'],
  used: ['The code was answered already', 'Each is good for one answer. Begin again on the machine: svc login.'],
};

function end(which) {
  const [title, text] = ENDS[which] ?? ENDS.used;
  byId('over-title').textContent = title;
  byId('over-text').textContent = text;
  showPart('over');
  return '';
}
