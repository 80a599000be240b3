CREATE TABLE "svc"."trigger_polls" (
	"trigger_id" text PRIMARY KEY NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_id" uuid,
	"lease_until" timestamp with time zone,
	"polled_at" timestamp with time zone,
	"tried_at" timestamp with time zone,
	"status" integer,
	"etag" text,
	"last_modified" text,
	"items" integer DEFAULT 0 NOT NULL,
	"seen" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"problem" text
);
--> statement-breakpoint
CREATE TABLE "svc"."trigger_seen" (
	"trigger_id" text NOT NULL,
	"key" text NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "trigger_seen_trigger_id_key_pk" PRIMARY KEY("trigger_id","key")
);
--> statement-breakpoint
ALTER TABLE "svc"."trigger_polls" ADD CONSTRAINT "trigger_polls_trigger_id_triggers_id_fk" FOREIGN KEY ("trigger_id") REFERENCES "svc"."triggers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."trigger_seen" ADD CONSTRAINT "trigger_seen_trigger_id_triggers_id_fk" FOREIGN KEY ("trigger_id") REFERENCES "svc"."triggers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "trigger_polls_due" ON "svc"."trigger_polls" USING btree ("next_at");--> statement-breakpoint
CREATE INDEX "trigger_seen_recent" ON "svc"."trigger_seen" USING btree ("trigger_id","seen_at" DESC NULLS LAST);